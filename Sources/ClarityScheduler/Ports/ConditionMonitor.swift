/// Knows the machine's conditions.
public protocol ConditionMonitor: Sendable {
    /// The conditions now. Returns within a few milliseconds; what cannot be had by then is
    /// unknown.
    func conditions() -> Conditions

    /// Asks the checks of these names, unless they are being asked; `changes()` tells when one has
    /// answered. A name that is not known is answered by "unknown" as well: a run waits for it.
    func ask(_ checks: Set<String>)

    /// Elements say that the conditions may have changed, or that the wall clock was set, which no
    /// wait for a span of elapsed time notices; ends when its consumer ends.
    func changes() -> AsyncStream<Void>
}
