public import ClarityHost
import ClarityScheduler
import HealthStore
import Platform
public import Reports

/// `history [JOB]`: lists past and present runs, newest first.
struct HistoryCommand: ComposedCommand {
    let composition: Composition

    func run() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        let file = try composition.jobFile()
        let history = try composition.history(file)
        let job = try composition.historyJob("history", in: file, history)
        let limit = try composition.limit(1...1_000_000)
        let filter = RunFilter(
            job: job, account: composition.namedAccount, isFailed: arguments.has("failed"),
            isDeferred: arguments.has("deferred"),
            since: try composition.time("since"), until: try composition.time("until"))
        // Programs get everything, and so does a person who names what to see.
        let hidesIdle =
            composition.console.form == .table && job == nil
            && !["all", "failed", "deferred"].contains(where: arguments.has)
        let (runs, waits) = try askingStore {
            () throws(RunStoreError) -> ([Run], [RunID: [Deferral]]) in
            var (shown, count) = ([Run](), limit)
            // There may be any number of idle runs between those that are shown.
            while true {
                let found = try history.runs(filter, limit: count)
                shown = hidesIdle ? Array(found.filter { !$0.isIdleUpkeep }.prefix(limit)) : found
                if !hidesIdle || shown.count == limit || found.count < count { break }
                count *= 4
            }
            return (shown, try deferrals(holding: shown, history))
        }
        if runs.isEmpty, let job { try composition.demandKnown(job, file, history) }
        composition.console.results(
            runs.map { ListedRun(run: $0, waitingOn: waits[$0.id] ?? []) })
        return .done
    }

    /// Returns the deferrals of each waiting run, as of the last decision.
    private func deferrals(
        holding runs: [Run], _ history: borrowing RunHistory
    ) throws(RunStoreError) -> [RunID: [Deferral]] {
        var waits: [RunID: [Deferral]] = [:]
        for run in runs where run.state == .enqueued {
            waits[run.id] = try history.deferrals(of: run.id).filter { $0.until == nil }
                .map(\.deferral)
        }
        return waits
    }
}

extension Run {
    /// Whether it looked for something to tell or to confirm, and found nothing.
    fileprivate var isIdleUpkeep: Bool {
        [.notify, .processingStatus].contains(kind) && state == .succeeded && !tally.hasCounted
    }
}

extension Composition {
    /// Returns the job that a command on the history names, if it names one.
    func historyJob(
        _ command: String, in file: JobFile, _ history: borrowing RunHistory
    ) throws(CommandFailure) -> JobID? {
        guard arguments.operands.count <= 1 else {
            throw CommandFailure(
                .usage, "`\(command)` takes one job, got \(arguments.operands.count)")
        }
        guard let name = arguments.operands.first else { return nil }
        guard let job = JobID(name) else {
            throw CommandFailure(.usage, "`\(name)` is no job's id")
        }
        if let known = try knownJob(job, in: file, history) { return known }
        return try self.job(withPart: name, in: file)?.id ?? ofAccount(job)
    }

    /// With an account, its jobs may be named without it.
    private func ofAccount(_ job: JobID) -> JobID {
        job.account == nil ? JobID(namedAccount, job) : job
    }

    /// Returns the job with this id, if the job file has it or, after it was removed there, the history.
    private func knownJob(
        _ job: JobID, in file: JobFile, _ history: borrowing RunHistory
    ) throws(CommandFailure) -> JobID? {
        let whole = ofAccount(job)
        guard !file.jobs.contains(where: { $0.id == whole }) else { return whole }
        // The jobs of other accounts are not there.
        guard namedAccount == nil || whole.account == namedAccount else { return nil }
        let runs = try askingStore { () throws(RunStoreError) in
            try history.runs(of: whole, limit: 1)
        }
        return runs.isEmpty ? nil : whole
    }

    /// Returns the run that a word names: by its number, or as the last run of a job.
    func run(
        named word: String, in file: JobFile, _ history: borrowing RunHistory
    ) throws(CommandFailure) -> Run {
        if let number = Int64(word) { return try run(numbered: number, in: history) }
        var known: JobID?
        if let id = JobID(word) { known = try knownJob(id, in: file, history) }
        let job = if let known { known } else { try job(named: word, in: file).id }
        let last = try askingStore { () throws(RunStoreError) in
            try history.runs(of: job, limit: 1).first
        }
        guard let last else { throw CommandFailure(.usage, "job `\(job)` has no run yet") }
        return last
    }

    /// Returns a run of the history; with `--account`, the runs of other accounts are not there.
    func run(
        numbered number: Int64, in history: borrowing RunHistory
    ) throws(CommandFailure) -> Run {
        let found = try askingStore { () throws(RunStoreError) in
            try history.run(RunID(number))
        }
        guard let found, namedAccount == nil || found.job.account == namedAccount else {
            throw CommandFailure(.usage, "no run \(number) in the history")
        }
        return found
    }

    /// Refuses a job that neither the job file nor the history has: a job that was removed from the
    /// file keeps its history.
    func demandKnown(
        _ job: JobID, _ file: JobFile, _ history: borrowing RunHistory
    ) throws(CommandFailure) {
        guard !file.jobs.contains(where: { $0.id == job }) else { return }
        let runs = try askingStore { () throws(RunStoreError) in
            try history.runs(of: job, limit: 1)
        }
        let isOthers = namedAccount != nil && job.account != namedAccount
        guard runs.isEmpty || isOthers else { return }
        let suggestion = didYouMean(job.rawValue, among: file.jobs.map(\.id.rawValue))
        throw CommandFailure(
            .usage, "no job `\(job)` in the job file or in the history\(suggestion)")
    }
}

/// `history show RUN`: shows a run, its attempts and everything that it waited for.
struct HistoryShowCommand: ComposedCommand {
    let composition: Composition

    func run() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        guard arguments.operands.count == 1 else {
            throw CommandFailure(.usage, "`history show` wants a run's number or a job")
        }
        let file = try composition.jobFile()
        let history = try composition.history(file)
        let run = try composition.run(named: arguments.operands[0], in: file, history)
        let (attempts, spans) = try askingStore { () throws(RunStoreError) in
            (try history.attempts(of: run.id), try history.deferrals(of: run.id))
        }
        let console = composition.console
        guard console.form == .table else {
            console.results([], ShownRun(run: run, attempts: attempts, spans: spans))
            return .done
        }
        show(run)
        for attempt in attempts { show(attempt) }
        for span in spans {
            let stretch =
                span.until.map { "waited \(($0 - span.since).text) from \(span.since)" }
                ?? "has waited since \(span.since)"
            console.show("\(stretch): \(span.deferral.waitWithSource)")
        }
        return .done
    }

    private func show(_ run: Run) {
        var lines = [
            "run \(run.id) of \(run.job) (\(run.kind)): \(RunReport.state(run))",
            "trigger \(run.trigger.rawValue)\(run.causedBy.map { " by run \($0)" } ?? ""), "
                + "scheduled for \(run.scheduledFor), enqueued \(run.enqueuedAt)",
        ]
        if let started = run.startedAt {
            lines.append(
                "started \(started), "
                    + (run.finishedAt.map { "finished \($0), took \(($0 - started).text)" }
                        ?? "not finished"))
        }
        if !run.parameters.isEmpty {
            let values = run.parameters.map { "\($0.key)=\($0.value.printable)" }.sorted()
            lines.append("set: \(values.joined(separator: ", "))")
        }
        if !run.tally.summary.isEmpty { lines.append("counts: \(run.tally.summary)") }
        if let failure = run.failure { lines.append("why: \(failure.reason)") }
        lines += run.notes.map { "note: \($0)" }
        lines.forEach(composition.console.show)
    }

    private func show(_ attempt: Attempt) {
        let place = attempt.machine.map { " on \($0.printable)" } ?? ""
        var words = "attempt \(attempt.number)\(place): \(attempt.result.rawValue)"
        if let stop = attempt.stopReason { words += ": \(stop.words)" }
        words += ", started \(attempt.startedAt)"
        if let finished = attempt.finishedAt {
            words += ", took \((finished - attempt.startedAt).text)"
        }
        if let reason = attempt.reason { words += ": \(reason)" }
        if let progress = attempt.progress { words += ": \(progress.words)" }
        composition.console.show(words)
        for line in attempt.output?.lines ?? [] {
            composition.console.show("  | \(line)")
        }
    }
}

/// `history missed [JOB]`: lists the occurrences that started no run of their own, latest first.
struct MissedCommand: ComposedCommand {
    let composition: Composition

    func run() throws(CommandFailure) -> ExitStatus {
        let file = try composition.jobFile()
        let history = try composition.history(file)
        let job = try composition.historyJob("history missed", in: file, history)
        let limit = try composition.limit(1...100_000)
        let since = try composition.time("since")
        let found = try askingStore { () throws(RunStoreError) in
            try history.missed(
                of: job, account: composition.namedAccount, since: since, limit: limit,
                jobs: file.enabledJobs,
                at: composition.clock.now)
        }
        if found.isEmpty, let job { try composition.demandKnown(job, file, history) }
        composition.console.results(found)
        if composition.console.form == .table, found.isEmpty {
            let start = since.map { " since \($0.shown)" } ?? ""
            composition.console.note("no occurrence was missed\(start)")
        }
        return .done
    }
}

extension MissedOccurrences: Reported {
    private var words: String { RunReport.words(of: outcome, run: run) }

    public static let report = Report<MissedOccurrences>([
        Column("job", "id of the job") { $0.job.rawValue }.shown("JOB"),
        Column("first_at", "the first occurrence") { $0.due.first }.shown("FIRST"),
        Column("latest_at", "the last one; the same if it is one") { $0.due.latest }
            .shown("LATEST"),
        Column("occurrences", "number of occurrences") { $0.due.count }.shown("NUMBER"),
        Column("fate", "`coalesced`, `skipped`, `expired`, `paused` or `pending`") {
            $0.outcome?.rawValue ?? "pending"
        },
        Column("run", "the run that stands for them, or that was in the way") {
            $0.run?.rawValue
        },
        Column("words", "the same in words") { $0.words }.shown("WHAT BECAME OF THEM"),
    ])
}

/// The occurrences of several jobs in order of time; at the same instant, in the order of the jobs.
///
/// A heap holds the next occurrence of each job. Each job computes only one occurrence ahead, so
/// that a few occurrences of many jobs cost little.
struct MergedOccurrences: Sequence, IteratorProtocol {
    /// An occurrence of the job with this index.
    struct Element: Comparable {
        var at: Instant
        var job: Int

        static func < (a: Element, b: Element) -> Bool { (a.at, a.job) < (b.at, b.job) }
    }

    private var jobs: [JobOccurrences]
    /// A heap: no element is later than those at twice its index plus one and plus two.
    private var heap: [Element]

    /// Merges the occurrences of jobs.
    init(_ jobs: [JobOccurrences]) {
        var jobs = jobs
        let first = jobs.indices.compactMap { index in
            jobs[index].next().map { Element(at: $0, job: index) }
        }
        self.jobs = jobs
        // A sorted array is a heap.
        heap = first.sorted()
    }

    mutating func next() -> Element? {
        guard let first = heap.first else { return nil }
        if let following = jobs[first.job].next() {
            heap[0] = Element(at: following, job: first.job)
        } else {
            let last = heap.removeLast()
            if heap.isEmpty { return first }
            heap[0] = last
        }
        sink()
        return first
    }

    /// Moves the first element down to restore the heap.
    private mutating func sink() {
        var index = 0
        while true {
            let children = index * 2 + 1...index * 2 + 2
            guard let child = children.filter({ $0 < heap.count }).min(by: { heap[$0] < heap[$1] }),
                heap[child] < heap[index]
            else { return }
            heap.swapAt(index, child)
            index = child
        }
    }
}

extension Composition {
    /// Returns the value of `--limit`, which must be in `range`; 20 by default.
    func limit(_ range: ClosedRange<Int>) throws(CommandFailure) -> Int {
        try number("limit", range) ?? 20
    }

    /// Returns the number that an option has; `nil` without the option.
    func number(
        _ option: String, _ range: ClosedRange<Int>
    ) throws(CommandFailure) -> Int? {
        guard let text = arguments[option] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw CommandFailure(
                .usage,
                "--\(option) is a number from \(range.lowerBound) to \(range.upperBound), "
                    + "got `\(text)`")
        }
        return number
    }
}
