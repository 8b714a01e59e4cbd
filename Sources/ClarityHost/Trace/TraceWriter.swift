public import ClarityScheduler
import JSON

/// Writes conditions as the lines that `TraceReader` reads: all of them first, then only changes.
public struct TraceWriter: Sendable {
    private var last: ConditionTrace.Entry?

    /// Creates a writer for a new trace.
    public init() {}

    /// Returns the line, without its line feed, for conditions that hold from an instant on; `nil`
    /// if no value has changed since the last line.
    ///
    /// A change of source alone is not a change. Times ascend: if the clock was set back behind the
    /// last line, the new line is 1 ms later than that one.
    public mutating func line(for conditions: Conditions, at instant: Instant) -> String? {
        let members = ConditionsNotation.members(conditions, since: last?.conditions)
        guard !members.isEmpty else { return nil }
        let at = last.map { max(instant, $0.at + .milliseconds(1)) } ?? instant
        last = ConditionTrace.Entry(at: at, conditions: conditions)
        return JSON.object([JSON.Member(name: "at", value: .text(at))] + members).line
    }
}
