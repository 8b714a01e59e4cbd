/// Observes the machine's conditions.
public protocol ConditionMonitor: Sendable {
    /// Returns the current conditions within a few milliseconds; slower answers are unknown.
    func conditions() -> Conditions

    /// Asks the checks with these names, unless they are being asked already; `changes()` reports
    /// when one has answered. An unknown name gets the answer "unknown", and its run waits.
    func ask(_ checks: Set<String>)

    /// Returns a stream of notices that the conditions may have changed, or that the wall clock was
    /// set. A wait for a span of elapsed time does not notice a set clock. The stream ends when its
    /// consumer ends.
    func changes() -> AsyncStream<Void>
}
