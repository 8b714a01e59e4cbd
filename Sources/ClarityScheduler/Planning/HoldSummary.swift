/// How often and how long one subject held a job back in a span of time.
public struct HoldSummary: Hashable, Sendable {
    public var reason: WaitReason
    /// As in `Deferral.subject`.
    public var subject: String
    /// The number of holds.
    public var spans: Int
    /// The total time within the span; time in which several runs waited at once counts once.
    public var total: Duration
    /// The number of runs that were held back.
    public var runs: Int
    /// The number of holds that have ended.
    public var ended = 0
    /// The median length of the ended holds, including time outside the span; for an even number,
    /// the lower of the two middle values. `nil` if none has ended.
    public var median: Duration?

    /// Returns a summary for each subject of the spans that touch the time from `start` to `end`,
    /// longest total first. A span without an end continues to `end`.
    public static func sums(
        of spans: [DeferralSpan], from start: Instant, until end: Instant
    ) -> [HoldSummary] {
        let touching = spans.filter { $0.since < end && ($0.until ?? end) > start }
        return Dictionary(grouping: touching, by: \.deferral.subject).map { subject, spans in
            let lengths = spans.compactMap { span in span.until.map { $0 - span.since } }.sorted()
            return HoldSummary(
                reason: spans[0].deferral.reason, subject: subject, spans: spans.count,
                total: covered(by: spans, start, end),
                runs: Set(spans.map(\.run)).count, ended: lengths.count,
                median: lengths.isEmpty ? nil : lengths[(lengths.count - 1) / 2])
        }.sorted { a, b in a.total != b.total ? a.total > b.total : a.subject < b.subject }
    }

    /// Returns the time that any of the spans covers.
    private static func covered(
        by spans: [DeferralSpan], _ start: Instant, _ end: Instant
    ) -> Duration {
        var total = Duration.zero
        var reached = start
        for span in spans.sorted(by: { $0.since < $1.since }) {
            let until = min(span.until ?? end, end)
            total += max(until - max(span.since, reached), .zero)
            reached = max(reached, until)
        }
        return total
    }
}

/// The history of what held a job back, for an explanation.
public struct JobPast: Hashable, Sendable {
    /// Since when the job's unfinished run waits for each subject.
    public var waitingSince: [String: Instant]
    /// What held the job back in the last `stretch`.
    public var holds: [HoldSummary]

    /// How far back an explanation looks: 7 days.
    public static let stretch: Duration = .seconds(7 * 86_400)

    /// Creates a past.
    public init(waitingSince: [String: Instant] = [:], holds: [HoldSummary] = []) {
        self.waitingSince = waitingSince
        self.holds = holds
    }
}
