import ClarityHost
import HealthStore
import ClarityScheduler
import Platform
import Reports

/// `import FILE` and `sources`.
///
/// Both run in `clarity-jobs-worker`, which links the code that reads archives and decrypts health
/// data.
struct SourceCommands: ComposedCommand {
    let composition: Composition

    func importFile() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        guard arguments.operands.count == 1, let operand = arguments.operands.first,
            !operand.isEmpty
        else {
            throw CommandFailure(
                .usage, "`import` wants one file, got \(arguments.operands.count)")
        }
        try check(arguments)
        let path = composition.absolute(operand)
        let file = try composition.jobFile()
        let imported = try imported(path, file)
        if arguments.has("change-time-zone"), imported.timeZone == nil {
            throw CommandFailure(
                .usage, "--change-time-zone wants a time zone", "help: name it with --time-zone")
        }
        var words = ["import"]
        if arguments.has("report") { words.append("--report") }
        if arguments.has("change-time-zone") { words.append("--change-time-zone") }
        if composition.console.isQuiet { words.append("--quiet") }
        let order = try composition.order(.bulkUpload, file) { $0.set(imported) }
        try composition.becomeWorker(words, order, for: file)
    }

    func list() throws(CommandFailure) -> ExitStatus {
        let file = try composition.jobFile()
        try composition.becomeWorker(
            ["sources"], try composition.order(.bulkUpload, file), for: file)
    }

    /// Returns what to import: as the job file's source with this path, changed by the flags.
    ///
    /// The job file may spell the path in any way. Its spelling is kept, because an import is recorded
    /// under its path.
    ///
    /// - Parameter path: the path in its shortest form.
    private func imported(
        _ path: String, _ file: JobFile
    ) throws(CommandFailure) -> ImportOptions {
        let arguments = composition.arguments
        let source = try readingSections { () throws(Failure) in try file.sections.sources }
            .first { composition.absolute($0.path) == path }
        var imported = ImportOptions()
        imported.path = source?.path ?? path
        imported.kind = arguments["kind"].map { SourceOptions.Kind(rawValue: $0) } ?? source?.kind
        imported.timeZone = arguments["time-zone"] ?? source?.timeZone
        imported.since = arguments["since"] ?? source?.since
        let preferred = arguments.all("prefer")
        imported.preferred =
            preferred.isEmpty ? source?.preferred : preferred.joined(separator: "\n")
        return imported
    }

    private func check(_ arguments: Arguments) throws(CommandFailure) {
        if let text = arguments["since"], Instant(rfc3339: text) == nil,
            Instant(rfc3339: "\(text)T00:00:00Z") == nil
        {
            throw CommandFailure(
                .usage,
                "--since is a date such as `2026-01-31` or an instant, got `\(text)`")
        }
        if let name = arguments["time-zone"], !composition.hasZone(name) {
            throw CommandFailure(
                .usage, "--time-zone `\(name)` is no time zone that this machine knows",
                "help: \(composition.zones.remedy)")
        }
        for name in arguments.all("prefer") where name.isEmpty || name.contains("\n") {
            throw CommandFailure(.usage, "--prefer wants the name of a device or an app")
        }
    }
}

/// `backfill JOB --from TIME [--to TIME]`: requests one run for each occurrence in a past range.
struct BackfillCommand {
    private let composition: Composition

    /// The largest number of occurrences in one request: over two years of days, or six weeks of
    /// hours.
    static let most = 1000

    init(_ composition: Composition) { self.composition = composition }

    func run() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        guard arguments.operands.count == 1, let from = try composition.time("from") else {
            throw CommandFailure(.usage, "`backfill` wants one job and --from")
        }
        let file = try composition.jobFile()
        let job = try composition.job(named: arguments.operands[0], in: file)
        try file.requireEnabled(job.id)
        let now = composition.clock.now
        let to = try composition.time("to") ?? now
        guard to <= now else {
            throw CommandFailure(
                .usage, "--to \(to) is in the future, it is \(now)",
                "help: `clarity-jobs next \(job.id)` lists what comes")
        }
        guard from <= to else {
            throw CommandFailure(.usage, "--from \(from) is later than --to \(to)")
        }
        let history = try composition.history(file)
        let past = try occurrences(of: job, from: from, through: to, history)
        let done = try askingStore { () throws(RunStoreError) in
            try history.doneOccurrences(of: job.id, from: from, through: to)
        }
        let wanted = past.filter { !done.contains($0) }
        let answer = try composition.submit([.backfill(job.id, wanted)], file)
        let new = answer.plan.changes.compactMap { change -> Run? in
            if case .put(let run) = change, run.trigger == .backfill { run } else { nil }
        }
        show(
            job, new, waiting: wanted.count - new.count, done: past.count - wanted.count,
            from: from, to: to)
        return .done
    }

    /// Returns the occurrences of the job's schedule in the range, both ends included.
    private func occurrences(
        of job: Job, from: Instant, through to: Instant, _ history: borrowing RunHistory
    ) throws(CommandFailure) -> [Instant] {
        guard let schedule = job.schedule else {
            throw CommandFailure(
                .usage, "job `\(job.id)` has no schedule, and so no occurrences",
                "help: clarity-jobs run \(job.id)")
        }
        let ledger = try askingStore { () throws(RunStoreError) in try history.ledger() }
        let anchor = BackfillCommand.anchor(
            ledger.jobs[job.id]?.clock?.anchor ?? to, of: schedule, before: from)
        let eve = from - .milliseconds(1)
        let latest = schedule.latest(
            BackfillCommand.most + 1, after: eve, through: to, anchor: anchor)
        guard latest.count <= BackfillCommand.most else {
            let count = schedule.due(after: eve, through: to, anchor: anchor)?.count
            throw CommandFailure(
                .usage,
                "the schedule of `\(job.id)` names \(count ?? latest.count) occurrences from "
                    + "\(from) to \(to), more than the \(BackfillCommand.most) of one request",
                "help: ask for a shorter range")
        }
        guard !latest.isEmpty else {
            throw CommandFailure(
                .usage, "the schedule of `\(job.id)` names no time from \(from) to \(to)")
        }
        return latest
    }

    /// Returns the instant from which `every` counts.
    ///
    /// An anchor after `start` is moved back by whole periods until it is before `start`.
    private static func anchor(
        _ anchor: Instant, of schedule: Schedule, before start: Instant
    ) -> Instant {
        guard case .every(let period, phase: nil) = schedule.rule, anchor > start else {
            return anchor
        }
        let steps = (anchor - start).milliseconds / period.milliseconds + 1
        return anchor - period * Int(steps)
    }

    private func show(
        _ job: Job, _ runs: [Run], waiting: Int, done: Int, from: Instant, to: Instant
    ) {
        let console = composition.console
        guard console.form == .table else {
            return console.results(
                [],
                Backfill(
                    job: job.id, from: from, to: to, runs: runs, waiting: waiting, done: done))
        }
        guard !console.isQuiet else { return }
        var parts = [counted(runs.count, "runs enqueued")]
        if done > 0 { parts.append("\(done) succeeded already") }
        if waiting > 0 { parts.append("\(waiting) waiting already") }
        console.show("\(job.id): \(parts.joined(separator: ", "))")
        if !runs.isEmpty {
            console.show("`clarity-jobs loop` or `run --due` runs them, one after the other")
        }
    }
}

/// The result of `backfill`.
struct Backfill: Reported {
    let job: JobID
    let from: Instant
    let to: Instant
    let runs: [Run]
    let waiting: Int
    let done: Int

    static let report = Report<Backfill>([
        Column("job", "id of the job") { $0.job.rawValue },
        Column("from", "start of the range") { $0.from },
        Column("to", "end of the range") { $0.to },
        Column("enqueued", "the new runs") { $0.runs.map(NewRun.init) },
        Column("waiting_already", "number of occurrences whose run waits already") { $0.waiting },
        Column("succeeded_already", "number of occurrences that have succeeded") { $0.done },
    ])

    struct NewRun: Reported {
        let run: Run

        static let report = Report<NewRun>([
            Column("run", "number of the run") { $0.run.id.rawValue },
            Column("scheduled_for", "the occurrence") { $0.run.scheduledFor },
        ])
    }
}
