import ClarityHost
import HealthStore
import ClarityScheduler
import Platform

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
        /// The last runs, newest first; enough of them to reach back beyond `Notice.longOutage`.
        var runs: [Run] = []
    }

    /// How long the machine was off or asleep, as far as it can tell.
    struct Absence {
        var bootedAt = Instant(secondsSince1970: 0)
        /// The time asleep since then.
        var asleep = Duration.zero
    }

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
                        + "`clarity-jobs history show \(last.id)`"))
        }
        guard let status = job.status else { return notices }
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

extension Composition {
    /// Returns what a person should know now, as far as the history and the machine tell.
    func historyNotices(
        _ file: JobFile, _ conditions: Conditions
    ) throws(CommandFailure) -> [Notice] {
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
                HistoryNotices.JobFacts(
                    id: job.id, usesBackend: kinds[job.kind]?.addressKey == backendAddress,
                    status: known[job.id],
                    runs: try askingStore { () throws(RunStoreError) in
                        try history.runs(of: job.id, limit: 100)
                    })
            }
        let machine = SystemClock()
        return HistoryNotices(
            jobs: jobs,
            absence: .init(
                bootedAt: moment.wall - machine.elapsed, asleep: machine.elapsed - machine.awake),
            lastBackup: lastBackup(file), failedServices: failedServices(file).entries,
            isLeaderless: try askingStore { () throws(RunStoreError) in
                try history.loops()
            }.isLeaderless,
            isJobFileFaulty: file.laterFault != nil, heldJobs: Set(file.held.keys),
            now: moment.wall
        ).active
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
    let notices: @Sendable (AccountID?) throws(CommandFailure) -> [Notice]

    func run(
        _ order: AttemptOrder, signals: AsyncStream<AttemptSignal>,
        progress: @escaping ProgressHandler
    ) async -> AttemptEnd {
        var order = order
        do throws(CommandFailure) {
            order.options.merge(Notice.options(try notices(order.job.account))) { _, new in new }
        } catch {
            let reason = error.lines.first ?? "the history cannot be read"
            return AttemptEnd(.reported(.retry(after: nil, Failure(.disk, reason))))
        }
        return await worker.run(order, signals: signals, progress: progress)
    }
}
