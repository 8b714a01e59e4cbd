public import ClarityScheduler
import JSON

/// Writes conditions as the lines that `TraceReader` reads: a whole one first, then what changed.
public struct TraceWriter: Sendable {
    private var last: ConditionTrace.Entry?

    /// Creates a writer of a trace that has no line yet.
    public init() {}

    /// The line, without its end, for conditions that hold from an instant on; `nil` when no value
    /// has changed since the last line. A source alone is no change.
    ///
    /// Times rise: what comes while the clock is behind the last line, since it was set back,
    /// counts as 1 ms after that.
    public mutating func line(for conditions: Conditions, at instant: Instant) -> String? {
        let members = ConditionsNotation.members(conditions, since: last?.conditions)
        guard !members.isEmpty else { return nil }
        let at = last.map { max(instant, $0.at + .milliseconds(1)) } ?? instant
        last = ConditionTrace.Entry(at: at, conditions: conditions)
        return JSON.object([JSON.Member(name: "at", value: .text(at))] + members).line
    }
}
