/// The record of one attempt in the history.
public struct Attempt: Hashable, Sendable {
    /// How an attempt ended.
    public enum Result: String, CaseIterable, Sendable {
        case running
        case succeeded
        /// The attempt failed and counts against the retry policy.
        case failed
        /// The scheduler stopped the attempt, or the attempt snoozed or awaits a condition. It does
        /// not count against the retry policy.
        case stopped
        /// The attempt vanished: its process or its scheduler was killed from outside.
        case interrupted
    }

    public var run: RunID
    /// The number of the attempt within its run, from 1.
    public var number: Int
    public var startedAt: Instant
    public var finishedAt: Instant?
    public var result: Result
    public var stopReason: StopReason?
    public var reason: String?
    /// The counts of this attempt alone.
    public var tally: Tally
    public var peakMemoryBytes: Int64
    /// The output of the attempt's program; `nil` if it was not kept.
    public var output: AttemptOutput?
    /// How far it is, while it runs and has said so.
    public var progress: AttemptProgress?
    /// The machine on which it ran, where the history is that of several; otherwise `nil`.
    public var machine: String?

    /// Creates the record of an attempt.
    public init(
        run: RunID, number: Int, startedAt: Instant, finishedAt: Instant? = nil,
        result: Result = .running, stopReason: StopReason? = nil, reason: String? = nil,
        tally: Tally = Tally(), peakMemoryBytes: Int64 = 0, output: AttemptOutput? = nil
    ) {
        self.run = run
        self.number = number
        self.startedAt = startedAt
        self.finishedAt = finishedAt
        self.result = result
        self.stopReason = stopReason
        self.reason = reason
        self.tally = tally
        self.peakMemoryBytes = peakMemoryBytes
        self.output = output
    }
}

/// A pause that an attempt asks for its own job.
public struct PauseRequest: Hashable, Sendable {
    /// `nil` until somebody resumes the job.
    public var until: Instant?
    public var reason: String

    /// Creates a request.
    public init(until: Instant?, reason: String) { (self.until, self.reason) = (until, reason) }
}

/// How far a running attempt is.
public struct AttemptProgress: Hashable, Sendable {
    public var done: Int64
    /// More than 0.
    public var total: Int64
    /// When this part of the work began, such as the reading of a file.
    public var since: Instant
    /// When `done` was reached.
    public var at: Instant

    /// Creates a progress.
    public init(done: Int64, total: Int64, since: Instant, at: Instant) {
        (self.done, self.total, self.since, self.at) = (done, total, since, at)
    }

    /// The time that the rest takes at the rate until now; `nil` if nothing is done yet.
    public var timeLeft: Duration? {
        let spent = at - since
        guard done > 0, spent > .zero, done <= total else { return nil }
        return .milliseconds(
            Int64(Double(spent.milliseconds) * Double(total - done) / Double(done)))
    }
}

/// The output that was kept of an attempt's program: all of it, or its beginning and its end.
///
/// The bytes are unchanged: they need not be text, and may contain control sequences for terminals.
public struct AttemptOutput: Hashable, Sendable {
    public var head: [UInt8]
    /// The number of bytes between `head` and `tail` that were not kept; 0 if all were kept.
    public var leftOutBytes: Int64
    public var tail: [UInt8]

    /// Creates an output.
    public init(head: [UInt8], leftOutBytes: Int64 = 0, tail: [UInt8] = []) {
        self.head = head
        self.leftOutBytes = leftOutBytes
        self.tail = tail
    }
}

/// Counts that a worker reports, in the order in which they first appeared.
///
/// A name is lowercase words joined by `_`, such as `samples_read`.
public struct Tally: Hashable, Sendable {
    /// What the names of counts of HTTP answers begin with. They are for monitoring: they do not
    /// show that work was done, and stand in no summary.
    public static let answerPrefix = "http_"
    /// The name of the count of attempts that ended without a report, so that some or all of what
    /// they did is in no other count.
    public static let unreported = "attempts_unreported"

    public private(set) var names: [String] = []
    private var counts: [String: Int64] = [:]

    /// Creates an empty tally.
    public init() {}

    /// The count named `name`; 0 if it was never set.
    public subscript(name: String) -> Int64 {
        get { counts[name] ?? 0 }
        set {
            if counts.updateValue(newValue, forKey: name) == nil { names.append(name) }
        }
    }

    /// Adds the counts of a further attempt of the same run.
    ///
    /// A count of what is still open at the end of an attempt (`..._processing`, `..._generating`)
    /// replaces the previous one; all others are added up.
    public mutating func add(_ attempt: Tally) {
        for name in attempt.names {
            let isOpen = name.hasSuffix("_processing") || name.hasSuffix("_generating")
            self[name] = isOpen ? attempt[name] : self[name] + attempt[name]
        }
    }

    public var isEmpty: Bool { names.isEmpty }

    /// Whether any work was counted.
    public var hasCounted: Bool { ofWork.contains { self[$0] > 0 } }

    /// Whether there are counts, all are zero and none are missing: there was nothing to do.
    public var isOfNothing: Bool { !isEmpty && !hasCounted && self[Tally.unreported] == 0 }

    /// The counts of work above zero on one line: `2041 samples read, 1 sample queued`. If all are
    /// zero, the first one. If an attempt ended without a report, the line says so and states no
    /// total.
    public var summary: String {
        let known = text(hasCounted ? ofWork.filter { self[$0] > 0 } : Array(ofWork.prefix(1)))
        let unreported = self[Tally.unreported]
        guard unreported > 0 else { return known }
        let end =
            "\(counted(unreported, "attempts")) ended before "
            + "\(unreported == 1 ? "it" : "they") reported"
        return hasCounted ? "at least \(known): \(end) all counts" : "\(end) any counts"
    }

    private var ofWork: [String] {
        names.filter { !$0.hasPrefix(Tally.answerPrefix) && $0 != Tally.unreported }
    }

    /// All counts on one line.
    public var whole: String { text(names) }

    private func text(_ names: [String]) -> String {
        names.map { counted(self[$0], $0.replacing("_", with: " ")) }.joined(separator: ", ")
    }
}

/// Returns a count and its words: `1 sample sent`, `2 entries`, `1 analysis completed`.
///
/// - Parameter words: the words for more than one. The first that ends in `s` is the noun.
package func counted(_ count: some BinaryInteger, _ words: String) -> String {
    var parts = words.split(separator: " ").map(String.init)
    guard count == 1, let noun = parts.firstIndex(where: { $0.hasSuffix("s") }) else {
        return "\(count) \(words)"
    }
    parts[noun] =
        switch parts[noun] {
        case "analyses": "analysis"
        case let word where word.hasSuffix("ies"): word.dropLast(3) + "y"
        case let word where word.hasSuffix("ches"): String(word.dropLast(2))
        case let word: String(word.dropLast())
        }
    return "1 \(parts.joined(separator: " "))"
}

/// How an attempt ended, as seen from outside.
public struct AttemptEnd: Hashable, Sendable {
    /// The outcome that the worker reported, or the fault that ended the attempt without one.
    public enum Result: Hashable, Sendable {
        case reported(Outcome)
        case broke(AttemptFault)
    }

    public var result: Result
    public var tally: Tally
    /// What held when the attempt ended; each name occurs once.
    public var facts: [AttemptFact]
    public var notes: [String]
    public var checkpoint: String?
    /// The events that the attempt emitted; jobs may wait for them with `on:`.
    public var events: Set<EventName>
    /// The largest resident memory that was measured, in bytes; 0 if unknown.
    public var peakMemoryBytes: Int64
    /// The output of the attempt's program; `nil` if it was not kept.
    public var output: AttemptOutput?
    /// The pause of its job that the attempt asks for.
    public var pause: PauseRequest?

    /// Creates an end.
    public init(
        _ result: Result, tally: Tally = Tally(), facts: [AttemptFact] = [], notes: [String] = [],
        checkpoint: String? = nil, events: Set<EventName> = [], peakMemoryBytes: Int64 = 0,
        output: AttemptOutput? = nil
    ) {
        self.result = result
        self.tally = tally
        self.facts = facts
        self.notes = notes
        self.checkpoint = checkpoint
        self.events = events
        self.peakMemoryBytes = peakMemoryBytes
        self.output = output
    }
}

extension AttemptEnd {
    /// Whether all events of the attempt are known: its worker reported an outcome or never
    /// started.
    var hasLastWord: Bool {
        switch result {
        case .reported, .broke(.notStarted): true
        case .broke: false
        }
    }
}

/// A way for a worker to end without a valid report.
///
/// Most faults make the attempt fail. If the scheduler was stopping the attempt, or SIGKILL from
/// outside ended it, the attempt may count as stopped, cancelled or interrupted instead.
public enum AttemptFault: Hashable, Sendable {
    /// The program could not be started.
    case notStarted(String)
    /// The program exited with this status and reported no outcome.
    case exitedWithoutReport(status: Int32)
    /// A signal ended the program; SIGKILL from outside is 9.
    case killedBySignal(Int32)
    /// The program wrote something that is not a report to its report descriptor.
    case malformedReport(String)
    /// The resident memory exceeded the limit.
    case memoryLimitExceeded(limitBytes: Int64, measuredBytes: Int64)
    /// The program ended and left a process of its process group running.
    case leftProcessesBehind
}

/// The instructions that a worker gets when an attempt starts.
public struct AttemptOrder: Hashable, Sendable {
    public var run: RunID
    public var job: JobID
    public var kind: JobKind
    /// The number of the attempt within its run, from 1.
    public var attempt: Int
    /// A fencing token, higher than that of every earlier attempt of the run: a receiver can refuse
    /// an older one. The workers of this program do not compare it, because sample ids make their
    /// repeats harmless.
    public var fencingToken: Int64
    public var scheduledFor: Instant
    /// The run whose end started this one through `then`; not part of the lines that a worker reads.
    public var after: RunID?
    /// The values that the request for the run set for parameters; not part of the lines either.
    public var parameters: [String: String] = [:]
    /// The time from the start of the attempt to its deadline.
    public var timeout: Duration
    /// How long before the deadline the worker is warned.
    public var warning: Duration
    /// The limit on resident memory, in bytes; an attempt that exceeds it is ended.
    public var memoryLimitBytes: Int64
    /// The checkpoint that an earlier attempt of the same run left with `AttemptReport.checkpoint`.
    public var checkpoint: String?
    /// The known conditions of the machine at the start, for a kind that uses them.
    public var conditions: OrderConditions
    /// The job's options and the sections of the job file, flattened: `backend.url`,
    /// `sources.0.path`, `page_size`.
    public var options: [String: String]

    /// Creates an order.
    public init(
        run: RunID, job: JobID, kind: JobKind, attempt: Int, fencingToken: Int64,
        scheduledFor: Instant, timeout: Duration, warning: Duration, memoryLimitBytes: Int64,
        checkpoint: String? = nil, conditions: OrderConditions = OrderConditions(),
        options: [String: String] = [:]
    ) {
        self.run = run
        self.job = job
        self.kind = kind
        self.attempt = attempt
        self.fencingToken = fencingToken
        self.scheduledFor = scheduledFor
        self.timeout = timeout
        self.warning = warning
        self.memoryLimitBytes = memoryLimitBytes
        self.checkpoint = checkpoint
        self.conditions = conditions
        self.options = options
    }
}
