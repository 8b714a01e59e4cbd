import ClarityHost
import HealthStore
import Reports
import ClarityScheduler
import Platform

/// `notices list`, `notify test` and `notify failed`.
struct NoticeCommands: ComposedCommand {
    let composition: Composition

    /// `notices list`: lists notices, newest first.
    func list() throws(CommandFailure) -> ExitStatus {
        let limit = try composition.limit(1...10_000)
        let file = try composition.jobFile()
        let store = try composition.healthStore(file, as: "notices")
        let found = try usingHealthData { () throws(HealthStoreError) in
            try store?.notices.list(limit) ?? []
        }
        let history = try composition.history(file)
        let ends = try askingStore { () throws(RunStoreError) in try history.lastEnds() }
        // The next `notify` finds that these are over, and says so.
        let working = ends.filter { $0.value.failure == nil }.map(\.key.declared.rawValue)
        composition.console.results(
            found.map { found in
                let isOver =
                    found.notice.notice.kind == .jobFailed
                    && working.contains(found.notice.notice.subject)
                return ListedNotice(
                    notice: found.notice, sent: found.sent, waiting: found.waiting,
                    twice: found.twice, isOverSoon: isOver)
            })
        if found.isEmpty, composition.console.form == .table {
            composition.console.note("no notices")
        }
        return .done
    }

    /// `notify test [TARGET]`: sends a test message to the targets of the job file.
    func test() throws(CommandFailure) -> ExitStatus {
        let operands = composition.arguments.operands
        guard operands.count < 2 else {
            throw CommandFailure(
                .usage, "`notify test` wants one target at most, got \(operands.count)")
        }
        let file = try composition.jobFile()
        let targets = try readingSections { () throws(Failure) in try file.sections.targets }
        guard !targets.isEmpty else {
            throw CommandFailure(
                .configuration, "the job file has no `notify`", "help: man clarity-jobs.yaml")
        }
        var order = try composition.order(.notify, file)
        let context = NoticeContext(host: HostIdentity.name)
        order.options.merge(context.options) { _, new in new }
        try composition.becomeWorker(
            ["notify-test"] + operands.flatMap { ["--target", $0] },
            order, for: file)
    }

    /// `notify failed [UNIT]`: records that a service failed, and tells the targets.
    ///
    /// The job of the kind `notify` tells them, with everything else that is new. If the failure is
    /// that the history or the health data cannot be used, they are told without a record of it.
    func failed() throws(CommandFailure) -> ExitStatus {
        let entry = try failedService()
        let environment = composition.environment
        // The run that failed for good has a notice of its own.
        guard
            environment["MONITOR_SERVICE_RESULT"] != "exit-code"
                || environment["MONITOR_EXIT_STATUS"] != "\(ExitStatus.failed.rawValue)"
        else { return .done }
        let file = try composition.jobFile()
        let services = FailedServices(stateDirectory: try composition.ownState(file))
        let known = try recording { () throws(StateDirectoryError) in try services.record(entry) }
        guard let job = file.enabledJobs.first(where: { $0.kind == .notify }), !known.isTold else {
            return .done
        }
        let status = run(job.id)
        // Deferred: another scheduler tells the targets, or a target is told later.
        if status == .deferred || isStored(known.notice, file) { return status }
        // What is broken made another service fail before, and that was told.
        guard !services.entries.contains(where: \.isTold) else { return .done }
        var order = try composition.order(.notify, file)
        let context = NoticeContext(host: HostIdentity.name)
        order.options.merge(Notice.options([known.notice]).merging(context.options) { $1 }) {
            _, new in new
        }
        let worker = try composition.companion("clarity-jobs-worker")
        let handover = try OrderHandover(order)
        defer { handover.end() }
        let told = try ForegroundProgram.run(
            [worker, "notify-test"], outputs: [OrderHandover.descriptor: handover.file])
        guard told == 0 else { return ExitStatus(rawValue: told) ?? .failed }
        try recording { () throws(StateDirectoryError) in try services.markTold(known) }
        return .done
    }

    private func failedService() throws(CommandFailure) -> FailedServices.Entry {
        let operands = composition.arguments.operands
        guard operands.count < 2 else {
            throw CommandFailure(
                .usage, "`notify failed` wants one unit at most, got \(operands.count)")
        }
        guard let unit = operands.first ?? composition.environment["MONITOR_UNIT"] else {
            throw CommandFailure(
                .usage, "`notify failed` wants a unit, or the variable MONITOR_UNIT of systemd")
        }
        guard
            let entry = FailedServices.Entry(unit: unit, environment: composition.environment)
        else {
            throw CommandFailure(
                .usage,
                "`\(unit.printable)` is no service; write it as `clarity-jobs.service`")
        }
        return entry
    }

    private func run(_ job: JobID) -> ExitStatus {
        var arguments = composition.arguments
        arguments.path = ["run"]
        arguments.operands = [job.rawValue]
        arguments.flags.insert("force")
        do throws(CommandFailure) {
            return try RunCommand(composition.with(arguments: arguments)).run()
        } catch {
            error.lines.forEach { Console.fault($0) }
            return error.status
        }
    }

    /// Returns whether a notice is open in the health data; `false` if that cannot be opened.
    private func isStored(_ notice: Notice, _ file: JobFile) -> Bool {
        do {
            let open = try composition.healthStore(file, as: "notices")?.notices.open() ?? []
            return open.contains {
                $0.notice.kind == notice.kind && $0.notice.subject == notice.subject
            }
        } catch {
            return false
        }
    }

    private func recording<Result>(
        _ body: () throws(StateDirectoryError) -> Result
    ) throws(CommandFailure) -> Result {
        do throws(StateDirectoryError) {
            return try body()
        } catch {
            throw CommandFailure(error.isDisk ? .disk : .unreachable, error.description)
        }
    }
}

/// A notice, and what became of the messages about it.
struct ListedNotice: Reported {
    let notice: StoredNotice
    let sent: Int64
    let waiting: Int64
    let twice: Int64
    /// Whether the job that failed works again, and the next `notify` says so.
    let isOverSoon: Bool

    static let report = Report<ListedNotice>(
        [
            Column("notice", "number of the notice") { $0.notice.id },
            Column("kind", "kind of the notice") { $0.notice.notice.kind.rawValue }.shown("KIND"),
            Column("subject", "what it is about, such as a job") { $0.notice.notice.subject },
            Column("text", "the notice") { $0.notice.notice.headline }.shown("NOTICE"),
            Column("details", "more of it, a line each") {
                $0.notice.notice.details(withOutput: true)
            },
            Column("raised_at", "when it began") { $0.notice.raisedAt }.shown("RAISED"),
            Column("resolved_at", "when it was over") { $0.notice.resolvedAt }
                .shown("OVER", isState: true) {
                    $0.notice.resolvedAt?.shown ?? ($0.isOverSoon ? "works again" : "open")
                },
            Column("messages_sent", "number of messages that were sent, without reminders") {
                $0.sent
            }
            .shown("SENT") { row in
                "\(row.sent)" + (row.waiting > 0 ? " of \(row.sent + row.waiting)" : "")
                    + (row.twice > 0 ? ", \(row.twice) perhaps twice" : "")
            },
            Column("messages_waiting", "number of messages that wait") { $0.waiting },
            Column("messages_perhaps_twice", "number of messages that may arrive twice") {
                $0.twice
            },
        ], tableOrder: ["RAISED", "OVER", "KIND", "SENT", "NOTICE"])
}
