public import ClarityScheduler
public import Reports
import Synchronization
import Platform

/// Formats runs for lines and tables.
enum RunReport {
    /// Returns a line such as `com.clarity.refresh: succeeded: 23 insights pulled (run 1)`.
    ///
    /// - Parameter isWhole: whether it has the counts that are zero too.
    static func line(_ run: Run, isWhole: Bool = false) -> String {
        let summary =
            isWhole && !run.tally.isEmpty
            ? [run.tally.whole, run.failure?.reason].compactMap(\.self).joined(separator: "; ")
            : run.state == .succeeded && run.tally.isOfNothing ? "nothing to do" : summary(run)
        // A reason such as `cancelled while it ran` has the state.
        let words =
            summary.isEmpty
            ? state(run)
            : summary.hasPrefix(run.state.rawValue) ? summary : "\(state(run)): \(summary)"
        return "\(run.job): \(words) (run \(run.id))"
    }

    /// Returns what a run did, why it did not do more, and what it waits for; may be empty.
    static func summary(_ run: Run, waitingOn deferrals: [Deferral] = []) -> String {
        let waits = deferrals.map { $0.retry ?? "waits \($0.waitWithSource)" }
        // A row of zeros beside a failure says nothing, and neither do counts that are missing.
        let counts = run.failure == nil || run.tally.hasCounted ? run.tally.words : ""
        // What a program says of its work; else notes are remarks beside the counts.
        let said = run.kind == .command && run.failure == nil ? run.notes.first : nil
        let set = run.parameters.map { "\($0.key)=\($0.value.printable)" }.sorted()
            .joined(separator: ", ")
        return ([set, counts, said ?? "", run.failure?.reason ?? ""] + waits).filter { !$0.isEmpty }
            .joined(separator: "; ")
    }

    /// Returns the state in words for people: a run that waits for a retry says when that is.
    ///
    /// - Parameter now: the current time, for a run that may have been due for a while.
    static func state(_ run: Run, at now: Instant? = nil) -> String {
        guard run.state == .enqueued, run.attempts > 0 else { return run.state.rawValue }
        if run.needs != nil { return "waiting" }
        let when =
            run.notBefore.map { start in
                now.map { start <= $0 } == true
                    ? " as soon as a scheduler runs" : " at \(start.shown)"
            } ?? ""
        switch run.failures {
        case 0:
            let stop = run.stopReason.map { "stopped (\($0.words)), " } ?? ""
            return stop + (when.isEmpty ? "goes on later" : "goes on\(when)")
        case 1: return "failed once, tries again\(when)"
        default: return "failed \(run.failures) times, tries again\(when)"
        }
    }

    /// Returns in words what became of occurrences without a run of their own.
    ///
    /// - Parameter outcome: `nil` if no scheduler has dealt with them yet.
    static func words(of outcome: OccurrenceOutcome?, run: RunID?) -> String {
        switch outcome {
        case .coalesced:
            "coalesced into run \(run.map { "\($0)" } ?? "that the history no longer has")"
        case .skipped:
            run.map { "skipped: run \($0) was still going (`overlap: skip`)" }
                ?? "skipped by `catch_up`"
        case .expired: "expired: not started in the time that the job allows"
        case .paused: "skipped: the job was paused"
        case nil: "pending: neither run nor skipped yet"
        }
    }

}

/// A run, and what holds it back now.
struct ListedRun {
    let run: Run
    var waitingOn: [Deferral] = []
}

extension ListedRun: Reported {
    static let report = Report<ListedRun>(
        [
            Column("run", "number of the run") { $0.run.id.rawValue }.shown("RUN"),
            Column("job", "id of the job") { $0.run.job.rawValue }.shown("JOB"),
            Column("kind", "kind of the job") { $0.run.kind.rawValue },
            Column("trigger", "what made the run: \(Trigger.listed)") { $0.run.trigger.rawValue }
                .shown("TRIGGER"),
            Column("state", RunState.listed) { $0.run.state.rawValue }
                .shown("STATE", isState: true),
            Column("attempts", "number of attempts so far") { $0.run.attempts },
            Column("parameters", "the values that its request set, by name") { $0.run.parameters },
            Column("scheduled_for", "when the run was due") { $0.run.scheduledFor },
            Column("started_at", "start of the first attempt") { $0.run.startedAt },
            Column("finished_at", "end of the run") { $0.run.finishedAt }
                .shown("WHEN") {
                    ($0.run.finishedAt ?? $0.run.startedAt ?? $0.run.scheduledFor).shown
                },
            Column("summary", "what the run did or why it waits, in words") {
                RunReport.summary($0.run, waitingOn: $0.waitingOn)
            }.shown("SUMMARY"),
            Column("waiting_on", "what holds the run back now") { $0.waitingOn },
            Column("counts", "what the run counted, such as `samples_sent`") { $0.run.tally },
            Column("failure", "why the last attempt failed") { $0.run.failure?.reason },
            Column("stop_reason", "why the run was stopped: \(StopReason.listed)") {
                $0.run.stopReason?.rawValue
            },
            Column("not_before", "when a waiting run may start again") { $0.run.notBefore },
            Column("needs", "the condition that the run asked for") { $0.run.needs?.rawValue },
            Column("caused_by", "number of the run that started this one") {
                $0.run.causedBy?.rawValue
            },
            Column("notes", "remarks of the attempts") { $0.run.notes },
        ], name: "run")
}

/// A run with its attempts and everything that it waited for.
struct ShownRun {
    let run: Run
    let attempts: [Attempt]
    let spans: [DeferralSpan]
}

extension ShownRun: Reported {
    static let report = Report<ShownRun>(
        ListedRun.report.columns.map { column in
            column.of { story in
                ListedRun(
                    run: story.run,
                    waitingOn: story.spans.filter { $0.until == nil }.map(\.deferral))
            }
        } + [
            Column("attempt_list", "the attempts, first one first") { $0.attempts },
            Column("deferrals", "what the run waited for, and when") { $0.spans },
        ])
}

extension Attempt: Reported {
    public static let report = Report<Attempt>(
        [
            Column("attempt", "number of the attempt, from 1") { $0.number },
            Column("machine", "where it ran; for a shared database") { $0.machine },
            Column("result", Attempt.Result.listed) { $0.result.rawValue },
            Column("started_at", "start of the attempt") { $0.startedAt },
            Column("finished_at", "end of the attempt") { $0.finishedAt },
            Column("stop_reason", "why it was stopped, if it was") { $0.stopReason?.rawValue },
            Column("reason", "why it failed") { $0.reason },
            Column("counts", "what the attempt counted") { $0.tally },
            Column("peak_memory_bytes", "largest resident memory of its process") {
                $0.peakMemoryBytes
            },
            Column("progress", "how far it is, while it runs and says so") { $0.progress },
            Column("output", "output of a job of kind `command`; while it runs, until now") {
                $0.output
            },
        ], name: "attempt")
}

extension AttemptProgress: Reported {
    public static let report = Report<AttemptProgress>(
        [
            Column("done", "what is done") { $0.done },
            Column("total", "what there is to do in this part of the work") { $0.total },
            Column("since", "when this part began") { $0.since },
            Column("at", "when `done` was reached") { $0.at },
            Column("left_ms", "how long the rest takes at this rate, in milliseconds") {
                $0.timeLeft?.milliseconds
            },
        ])

    /// Text such as `45 %, 450 of 1000, 2m left`.
    var words: String {
        let share = Double(done) / Double(total)
        // A total of 100 is a percentage already.
        let count = total == 100 ? [] : ["\(done) of \(total)"]
        let seconds = timeLeft.map { Duration.seconds($0.milliseconds / 1000) }
        let left = seconds.map { ["\($0.text) left"] } ?? []
        return (["\(ProgressBar.percent(min(1, max(0, share)))) %"] + count + left)
            .joined(separator: ", ")
    }
}

extension AttemptOutput: Reported {
    /// Nothing was left out: `head` has everything.
    private var isWhole: Bool { leftOutBytes == 0 }

    public static let report = Report<AttemptOutput>([
        Column("head", "the beginning, or all of it") {
            String(decoding: $0.isWhole ? $0.head + $0.tail : $0.head, as: UTF8.self)
        },
        Column("left_out_bytes", "length of what was left out") { $0.leftOutBytes },
        Column("tail", "the end, if something was left out") {
            $0.isWhole ? "" : String(decoding: $0.tail, as: UTF8.self)
        },
    ])

    /// The lines without their line ends. A line of its own says how many bytes were left out.
    var lines: [String] {
        guard !isWhole else { return AttemptOutput.lines(head + tail) }
        return AttemptOutput.lines(head) + ["... \(leftOutBytes) bytes are left out ..."]
            + AttemptOutput.lines(tail)
    }

    static func lines(_ bytes: [UInt8]) -> [String] {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines.map { line in
            let end = line.last == UInt8(ascii: "\r") ? line.endIndex - 1 : line.endIndex
            return String(decoding: line[line.startIndex..<end], as: UTF8.self)
        }
    }
}

extension Deferral: Reported {
    public static let report = Report<Deferral>(
        [
            Column("reason", WaitReason.listed) { $0.reason.rawValue },
            Column("subject", "what holds the run back, such as `network`") { $0.subject },
            Column("wanted", "the required value, in words") { $0.wanted },
            Column("measured", "the measured value, in words") { $0.measured },
            Column("source", "where the measured value comes from") { $0.source },
        ], name: "deferral")
}

extension DeferralSpan: Reported {
    public static let report = Report<DeferralSpan>(
        Deferral.report.columns.map { $0.of { $0.deferral } } + [
            Column("since", "when it began to hold the run back") { $0.since },
            Column("until", "when it ended; none if it has not") { $0.until },
        ], name: "deferral_span")
}

extension Pause: Reported {
    public static let report = Report<Pause>(
        [
            Column("since", "start of the pause") { $0.since },
            Column("until", "end of the pause; none if `resume` ends it") { $0.until },
            Column("reason", "the note given with the pause; may be empty") { $0.reason },
        ], name: "pause")
}

/// A job, and its pause if it is paused.
struct PausedJob {
    let job: JobID
    let pause: Pause?
}

extension PausedJob: Reported {
    static let report = Report<PausedJob>([
        Column("job", "id of the job") { $0.job.rawValue },
        Column("paused", "the job's pause; none if it is not paused") { $0.pause },
    ])
}

/// What happens to a run that a command asked for.
struct RequestedRun {
    let run: RunID
    let message: String
}

extension RequestedRun: Reported {
    static let report = Report<RequestedRun>([
        Column("run", "number of the run") { $0.run.rawValue },
        Column("message", "what happens to it, in words") { $0.message },
    ])
}

extension HoldSummary: Reported {
    public static let report = Report<HoldSummary>([
        Column("times", "number of times") { $0.spans },
        Column("total_ms", "sum of the times in milliseconds") { $0.total.milliseconds },
        Column("runs", "number of runs that it held back") { $0.runs },
        Column("median_ms", "median of the times in milliseconds") { $0.median?.milliseconds },
    ])

    /// Text such as `3 times, 2h 10m, 3 runs`.
    var words: String {
        let whole = total < .seconds(1) ? total : .seconds(total.milliseconds / 1000)
        return "\(counted(spans, "times")), \(whole.text), \(counted(runs, "runs"))"
    }
}

extension LikelyStart: Reported {
    public static let report = Report<LikelyStart>([
        Column(
            "certainty",
            "`running`, `now`, `certain`, `at_latest`, `estimate`, `unknown` or `never`"
        ) { $0.certainty.word },
        Column("at", "the likely start") { $0.certainty.at },
        Column("not_before", "the earliest start, if the start is unknown") {
            $0.earliest
        },
        Column("words", "the same in words") { StartReport.words($0) },
    ])

    private var earliest: Instant? {
        if case .unknown(let instant, _) = self { instant } else { nil }
    }

    private var certainty: (word: String, at: Instant?) {
        switch self {
        case .running: ("running", nil)
        case .now: ("now", nil)
        case .at(let instant): ("certain", instant)
        case .by(let instant, dropping: _): ("at_latest", instant)
        case .estimated(let instant, _): ("estimate", instant)
        case .unknown: ("unknown", nil)
        case .never: ("never", nil)
        }
    }
}

/// Finds the runs that are worth a line: each when an attempt of it has ended, or when it ends
/// without one.
///
/// A run that waits for its retry is also written when an occurrence is coalesced into it, which is
/// no news.
final class ReportedRuns: Sendable {
    /// The waiting runs as they were last written.
    private let waiting = Mutex<[RunID: Run]>([:])

    /// Returns the run that a change is news of; `nil` if there is none. Wants every change, in
    /// their order.
    func run(in change: LedgerChange) -> Run? {
        waiting.withLock { waiting in
            switch change {
            case .put(let run):
                waiting[run.id] = run.state == .enqueued && run.attempts > 0 ? run : nil
                return run.state.isFinished ? run : nil
            case .putAttempt(let attempt) where attempt.finishedAt != nil:
                // The run itself is written before its attempt.
                return waiting.removeValue(forKey: attempt.run)
            default: return nil
            }
        }
    }
}

/// Shows how far running attempts are, on one line of the terminal that is drawn again and again.
final class RunDisplay: Sendable {
    /// The part of an attempt that is under way, such as the reading of a file.
    private struct Part {
        var bar: ProgressBar
        var total: Int64
        var done: Int64 = 0
        var seenAt: Duration
    }

    private struct State {
        var line: TerminalLine?
        var parts: [RunID: Part] = [:]
    }

    private let clock: any WallClock
    private let state: Mutex<State>

    init(isShown: Bool, clock: any WallClock) {
        self.clock = clock
        state = Mutex(State(line: isShown ? TerminalLine() : nil))
    }

    /// Shows that an attempt has done `done` of `total`, if it is time to.
    func show(_ order: AttemptOrder, _ done: Int64, _ total: Int64) {
        let now = clock.elapsed
        state.withLock { state in
            guard let width = state.line?.width, total > 0 else { return }
            let last = state.parts[order.run]
            var part =
                last
                ?? Part(bar: ProgressBar(at: now), total: total, seenAt: now)
            if total != part.total || done < part.done {
                // The next part began when the last one was seen to end.
                part = Part(bar: ProgressBar(at: part.seenAt), total: total, seenAt: now)
            }
            (part.done, part.seenAt) = (done, now)
            if part.bar.isDue(at: now) {
                state.line?.draw(RunDisplay.text(order.job, part, at: now, width: width))
            }
            state.parts[order.run] = part
        }
    }

    /// Removes the line while `write` writes others.
    func writing(_ write: () -> Void) {
        state.withLock { state in
            state.line?.erase()
            write()
        }
    }

    private static func text(_ job: JobID, _ part: Part, at now: Duration, width: Int) -> String {
        let share = min(1, max(0, Double(part.done) / Double(part.total)))
        var facts = [job.rawValue, "\(ProgressBar.percent(share)) %"]
        // A total of 100 is a percentage already.
        if part.total != 100 {
            facts.append("\(part.done) of \(part.total)")
            if let rate = part.bar.rate(part.done, at: now) { facts.append(rate) }
        }
        if let left = part.bar.timeLeft(share, at: now) { facts.append(left) }
        return ProgressBar.text(facts, share: share, width: width)
    }
}

extension Lease {
    /// Who holds it, for people: `process 4480`, or `process 4480 on nas` in a shared database.
    var holder: String { Lease.holder(owner) }

    /// Returns the same for the name of an owner, such as `nas/4480-xy8y5wxof110`.
    static func holder(_ owner: String) -> String {
        let parts = owner.split(separator: "/", maxSplits: 1)
        guard let name = parts.last, let process = name.split(separator: "-").first,
            Int32(process) != nil
        else { return owner }
        return "process \(process)" + (parts.count == 2 ? " on \(parts[0])" : "")
    }
}

extension StopReason {
    /// Why the attempt ended, for people.
    var words: String {
        switch self {
        case .timeout: "its time was over"
        case .stalled: "it made no progress"
        case .constraintLost: "a constraint no longer held"
        case .shutdown: "the scheduler ended"
        case .cancelled: "somebody cancelled it"
        case .superseded: "a later occurrence replaced it"
        case .leaseLost: "its scheduler was killed"
        }
    }
}
