import ClarityHost
import HealthStore
import ClarityScheduler
import Platform
import Reports

/// What a person should know that follows from the history and the state directory. It goes to other
/// people's services, so it names no account: where there are several, `history show` of the run that
/// it names says whose it is. Notices that
/// follow from the health data are found by the attempt that sends them.
struct HistoryNotices {
    /// What is known of a job.
    struct JobFacts {
        var id: JobID
        /// Whether it needs the backend.
        var usesBackend = false
        var status: JobStatus?
        /// The last lines that the program of the last run wrote, if that failed.
        var output: [String] = []
        /// The last runs, newest first; enough of them to reach back beyond `Notice.longOutage`.
        var runs: [Run] = []
        /// How long its running attempt takes.
        var pace: JobPace?
    }

    /// The most lines of output, and the most characters of one, that a notice has.
    static let mostOutput = (lines: 5, characters: 120)

    /// What goes with the notices of an order.
    var context: NoticeContext {
        var failures: [String: Int] = [:]
        for job in jobs { failures[job.id.declared.rawValue] = job.failuresBeforeSuccess }
        return NoticeContext(host: host, failures: failures)
    }

    /// How long the machine was off or asleep, as far as it can tell.
    struct Absence {
        var bootedAt = Instant(secondsSince1970: 0)
        /// The time asleep since then.
        var asleep = Duration.zero
    }

    /// The name of this machine.
    var host = ""
    var jobs: [JobFacts]
    var absence = Absence()
    /// When the newest backup that somebody asked for was made; `nil` if nobody ever asked.
    var lastBackup: Instant?
    var failedServices: [FailedServices.Entry] = []
    /// Whether loops run and none of them decides.
    var isLeaderless = false
    /// Whether the job file has a fault that concerns all of it.
    var isJobFileFaulty = false
    /// The jobs that are held because their declaration has a fault.
    var heldJobs: Set<JobID> = []
    var now: Instant

    /// The options that carry the notices in an order.
    var options: [String: String] {
        Notice.options(active).merging(context.options) { _, new in new }
    }

    var active: [Notice] {
        jobs.flatMap(ofJob) + ofJobFile + [silence, outage, oldBackup].compactMap(\.self)
            + failedServices.filter { !$0.isTold }.map(\.notice)
    }

    private var ofJobFile: [Notice] {
        let seen = "see `clarity-jobs validate`"
        let whole = Notice(
            .jobFileFaulty, "the job file has a fault, and its changes do not apply; \(seen)")
        return (isJobFileFaulty ? [whole] : [])
            + heldJobs.map(\.declared.rawValue).sorted().map { name in
                Notice(
                    .jobFileFaulty, about: name,
                    "job `\(name)` does not start: the job file has a fault; \(seen)")
            }
    }

    private func ofJob(_ job: JobFacts) -> [Notice] {
        var notices: [Notice] = []
        let name = job.id.declared.rawValue
        let last = job.runs.first { [.succeeded, .failed].contains($0.state) }
        if let last, last.state == .failed {
            // What a program printed, and what the fault of a health job names, stays on this machine.
            let reason = last.kind == .command ? last.failure?.reason.withoutOutput : nil
            notices.append(
                Notice(
                    .jobFailed, about: name,
                    "job `\(name)` failed\(reason.map { ": \($0)" } ?? ""); see "
                        + "`clarity-jobs history show \(last.id)`",
                    details: job.output.map { Notice.outputMark + $0 } + job.stretch))
        }
        guard let status = job.status else { return notices }
        if let open = status.open, let pace = job.pace, pace.isSlow(at: now),
            !JobStatusReport.isAbandoned(open)
        {
            // The same text at each look, as it is stored.
            notices.append(
                Notice(
                    .jobSlow, about: name,
                    "job `\(name)` runs since \(pace.since), \(pace.should ?? "too long"); see "
                        + "`clarity-jobs history show \(open.id)`"))
        }
        guard let open = status.open, open.state == .enqueued else { return notices }
        if open.needs == .login {
            notices.append(
                Notice(
                    .loginNeeded, about: name,
                    "job `\(name)` waits for a login; "
                        + (job.id.account == nil
                            ? "run `clarity-jobs auth login`"
                            : "see `clarity-jobs history show \(open.id)`")))
        }
        let storage = Constraint.storageFree(bytes: 0).name
        if let wait = status.deferrals.first(where: { $0.subject == storage }) {
            notices.append(
                Notice(
                    .diskLow, about: name,
                    "job `\(name)` waits for free space: \(wait.measured), wanted \(wait.wanted)")
            )
        }
        return notices
    }

    /// The notice that no scheduler ran while jobs were due, although the machine was awake.
    ///
    /// The first scheduler after the silence has runs that catch up. The notice stays for a day, so
    /// that quiet hours do not hide it.
    private var silence: Notice? {
        guard !isLeaderless else {
            return Notice(
                .schedulerOverdue, "loops run, and none of them decides; see `clarity-jobs status`")
        }
        let caughtUp = jobs.compactMap { job in
            job.runs.first { [.schedule, .catchUp].contains($0.trigger) }
        }
        .filter { $0.trigger == .catchUp && now - $0.enqueuedAt < Notice.toldSilence }
        guard let until = caughtUp.map(\.enqueuedAt).max(),
            let since = jobs.flatMap(\.runs).flatMap({ [$0.enqueuedAt, $0.finishedAt] })
                .compactMap(\.self).filter({ $0 < until }).max(),
            until - max(since, absence.bootedAt) - absence.asleep > Notice.silence
        else { return nil }
        return Notice(
            .schedulerOverdue,
            "no scheduler ran between \(since) and \(until), and jobs were overdue; does "
                + "`clarity-jobs loop` or cron run?")
    }

    /// The notice that nothing has reached the backend for long.
    private var outage: Notice? {
        let jobs = jobs.filter(\.usesBackend)
        let lastAnswer = jobs.flatMap(\.runs).filter { $0.state == .succeeded }
            .compactMap(\.finishedAt).max()
        // The runs of each job since it last reached the backend.
        let outages = jobs.compactMap { job in
            job.runs.prefix { $0.state != .succeeded }
                .filter { $0.failure?.category == .unreachable }
                .map { $0.startedAt ?? $0.enqueuedAt }.min()
        }
        guard let since = outages.min(), now - since >= Notice.longOutage,
            lastAnswer.map({ $0 < since }) ?? true
        else { return nil }
        return Notice(.backendUnreachable, "the backend cannot be reached since \(since)")
    }

    private var oldBackup: Notice? {
        guard let lastBackup, now - lastBackup >= Notice.oldBackup else { return nil }
        return Notice(
            .backupOld, "the newest backup is of \(lastBackup); run `clarity-jobs backup`")
    }
}

extension HistoryNotices.JobFacts {
    private var ended: [Run] { runs.filter { [.succeeded, .failed].contains($0.state) } }

    /// How often the job failed in a row before it last succeeded; 0 if it fails now.
    fileprivate var failuresBeforeSuccess: Int {
        guard ended.first?.state == .succeeded else { return 0 }
        return ended.drop { $0.state == .succeeded }.prefix { $0.state == .failed }.count
    }

    /// Since when the job has failed, and when it last succeeded, on one line.
    fileprivate var stretch: [String] {
        let failed = ended.prefix { $0.state == .failed }
        guard let first = failed.last?.finishedAt else { return [] }
        let count =
            failed.count > 1 ? ["\(failed.count) failures in a row since \(first.shown)"] : []
        let success = ended.first { $0.state == .succeeded }?.finishedAt
        let last = success.map { ["last success at \($0.shown)"] } ?? []
        let words = (count + last).joined(separator: "; ")
        return words.isEmpty ? [] : [words]
    }
}

extension Composition {
    /// Returns what a person should know now, as far as the history and the machine tell.
    func historyNotices(
        _ file: JobFile, _ conditions: Conditions
    ) throws(CommandFailure) -> HistoryNotices {
        let history = try history(file)
        let moment = clock.moment
        let ledger = try askingStore { () throws(RunStoreError) in try history.ledger() }
        let statuses = planner(file, owner: "", scope: .everything).statuses(
            at: moment, conditions: conditions, ledger: ledger)
        let known = Dictionary(
            statuses.map { ($0.job, $0) }, uniquingKeysWith: { first, _ in first })
        let kinds = Dictionary(
            Composition.catalogue.kinds.map { ($0.kind, $0) },
            uniquingKeysWith: { first, _ in first })
        let jobs = try file.enabledJobs.filter { $0.kind != .notify }
            .map { job throws(CommandFailure) in
                let runs = try askingStore { () throws(RunStoreError) in
                    try history.runs(of: job.id, limit: 100)
                }
                return HistoryNotices.JobFacts(
                    id: job.id, usesBackend: kinds[job.kind]?.addressKey == backendAddress,
                    status: known[job.id], output: try lastOutput(of: runs, history), runs: runs,
                    pace: try pace(of: known[job.id]?.open, job, history))
            }
        let machine = SystemClock()
        return HistoryNotices(
            host: HostIdentity.name, jobs: jobs,
            absence: .init(
                bootedAt: moment.wall - machine.elapsed, asleep: machine.elapsed - machine.awake),
            lastBackup: lastBackup(file), failedServices: failedServices(file).entries,
            isLeaderless: try askingStore { () throws(RunStoreError) in
                try history.loops()
            }.isLeaderless,
            isJobFileFaulty: file.laterFault != nil, heldJobs: Set(file.held.keys),
            now: moment.wall)
    }

    /// Returns the last lines that the program of a failed run wrote. Nobody but its account sees
    /// what the program of an account wrote.
    private func lastOutput(
        of runs: [Run], _ history: borrowing RunHistory
    ) throws(CommandFailure) -> [String] {
        let last = runs.first { [.succeeded, .failed].contains($0.state) }
        guard let last, last.state == .failed, last.kind == .command, last.job.account == nil else {
            return []
        }
        let attempts = try askingStore { () throws(RunStoreError) in
            try history.attempts(of: last.id)
        }
        let most = HistoryNotices.mostOutput
        return (attempts.last?.output?.lines ?? []).suffix(most.lines).map {
            printable($0, atMost: most.characters)
        }
    }

    /// Returns how long the running attempt of a job takes; `nil` if none runs.
    func pace(
        of open: Run?, _ job: Job, _ history: borrowing RunHistory
    ) throws(CommandFailure) -> JobPace? {
        guard let open, open.state == .running else { return nil }
        return try askingStore { () throws(RunStoreError) in
            try history.pace(of: open, expected: job.expected)
        }
    }

    /// Returns when the newest backup that somebody asked for was made. Backups that cannot be read
    /// count as none: `backup list` says why.
    private func lastBackup(_ file: JobFile) -> Instant? {
        do throws(BackupError) {
            return try BackupFolder(ofState: backedUpPath(file)).entries().compactMap(\.backup)
                .filter { $0.manifest.reason == .asked }.map(\.manifest.madeAt).max()
        } catch {
            return nil
        }
    }
}

/// Puts what follows from the history into the orders of the kind `notify`, which another worker
/// carries out.
struct NoticeWorker: Worker {
    let worker: any Worker
    /// Returns what there is to say of the jobs of an account, or of all without accounts.
    let notices: @Sendable (AccountID?) throws(CommandFailure) -> HistoryNotices

    func run(
        _ order: AttemptOrder, signals: AsyncStream<AttemptSignal>,
        progress: @escaping ProgressHandler
    ) async -> AttemptEnd {
        var order = order
        do throws(CommandFailure) {
            let found = try notices(order.job.account)
            order.options.merge(found.options) { _, new in new }
        } catch {
            let reason = error.lines.first ?? "the history cannot be read"
            return AttemptEnd(.reported(.retry(after: nil, Failure(.disk, reason))))
        }
        return await worker.run(order, signals: signals, progress: progress)
    }
}
