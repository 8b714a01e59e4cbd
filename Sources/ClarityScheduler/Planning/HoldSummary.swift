/// How often and how long one thing held a job back in a stretch of time.
public struct HoldSummary: Hashable, Sendable {
    /// A time during which something held one run back.
    public struct Span: Hashable, Sendable {
        public var reason: WaitReason
        public var subject: String
        public var run: RunID
        public var since: Instant
        /// `nil` while it does.
        public var until: Instant?

        /// Creates a span.
        public init(
            _ reason: WaitReason, subject: String, run: RunID, since: Instant, until: Instant?
        ) {
            self.reason = reason
            self.subject = subject
            self.run = run
            self.since = since
            self.until = until
        }
    }

    public var reason: WaitReason
    /// As in `Deferral.subject`.
    public var subject: String
    /// How often it did.
    public var spans: Int
    /// How long, in the stretch alone; what several runs waited at the same time counts once.
    public var total: Duration
    /// How many runs it did it to.
    public var runs: Int
    /// How many of the spans are over.
    public var ended: Int
    /// The median length of those, in full; of an even number the lower of the two in the middle.
    /// `nil` when there is none.
    public var median: Duration?

    /// Creates a sum of what is known.
    public init(
        _ reason: WaitReason, subject: String, spans: Int, total: Duration, runs: Int,
        ended: Int = 0, median: Duration? = nil
    ) {
        self.reason = reason
        self.subject = subject
        self.spans = spans
        self.total = total
        self.runs = runs
        self.ended = ended
        self.median = median
    }

    /// Sums up the spans that touch the stretch from `start` to `end`, a sum a subject, what held
    /// the job back longest first; what has no end yet goes on to `end`.
    public static func sums(
        of spans: [Span], from start: Instant, until end: Instant
    ) -> [HoldSummary] {
        let touching = spans.filter { $0.since < end && ($0.until ?? end) > start }
        return Dictionary(grouping: touching, by: \.subject).map { subject, spans in
            let lengths = spans.compactMap { span in span.until.map { $0 - span.since } }.sorted()
            return HoldSummary(
                spans[0].reason, subject: subject, spans: spans.count,
                total: covered(by: spans, start, end),
                runs: Set(spans.map(\.run)).count, ended: lengths.count,
                median: lengths.isEmpty ? nil : lengths[(lengths.count - 1) / 2])
        }.sorted { a, b in a.total != b.total ? a.total > b.total : a.subject < b.subject }
    }

    /// The time that is in any of the spans.
    private static func covered(
        by spans: [Span], _ start: Instant, _ end: Instant
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

/// What the history says about what held a job back, for an explanation.
public struct JobPast: Hashable, Sendable {
    /// Since when its unfinished run waits for each subject.
    public var waitingSince: [String: Instant]
    /// What held it back in the last `stretch`.
    public var heldBack: [HoldSummary]

    /// How far back an explanation looks: 7 days.
    public static let stretch: Duration = .seconds(7 * 86_400)

    /// Creates a past.
    public init(waitingSince: [String: Instant] = [:], heldBack: [HoldSummary] = []) {
        self.waitingSince = waitingSince
        self.heldBack = heldBack
    }
}
