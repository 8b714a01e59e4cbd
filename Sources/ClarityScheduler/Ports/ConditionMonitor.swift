/// Knows the machine's conditions.
public protocol ConditionMonitor: Sendable {
    /// The conditions now. Returns within a few milliseconds; what cannot be had by then is
    /// unknown.
    func conditions() -> Conditions

    /// Elements say that the conditions may have changed, or that the wall clock was set, which no
    /// wait for a span of elapsed time notices; ends when its consumer ends.
    func changes() -> AsyncStream<Void>
}
