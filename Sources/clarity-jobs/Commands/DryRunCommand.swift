import ClarityHost
import HealthStore
import ClarityScheduler
import Platform
import Reports

/// `dry-run JOB`: shows what a job would send or delete, and changes nothing.
struct DryRunCommand: ComposedCommand {
    let composition: Composition

    func run() throws(CommandFailure) -> ExitStatus {
        let name = try job(wantedBy: "dry-run")
        let file = try composition.jobFile()
        let declared = try composition.job(named: name, in: file)
        try file.requireEnabled(declared.id)
        guard let job = composition.jobs(file).first(where: { $0.id == declared.id }) else {
            throw CommandFailure(.usage, "job `\(declared.id)` is not planned")
        }
        let (planner, ledger) = try planning(file, try composition.history(file))
        // Conditions come before `moment`. A condition measured after it would look as if the clock
        // had been set back since the measurement.
        let conditions = composition.conditions(file).conditions(
            asking: job.checks, of: Set([job.id.account].compactMap(\.self)))
        let moment = composition.clock.moment
        say(of: job, planner, conditions, moment, ledger)
        if job.kind != .command { _ = try composition.ownState(file) }
        var order = AttemptOrder(
            run: ledger.nextRun, job: job.id, kind: job.kind, attempt: 1, fencingToken: 1,
            scheduledFor: moment.wall, timeout: job.timeout, warning: job.warning,
            memoryLimitBytes: job.memoryLimitBytes, conditions: job.orderConditions(of: conditions),
            options: job.options)
        order.parameters = try composition.parameters(of: [job.id], in: file)
        if job.kind == .notify {
            order.options.merge(try composition.historyNotices(file, conditions).options) {
                _, new in new
            }
        }
        if job.kind == .command { return try CommandDryRun(composition).run(order, file) }
        try composition.becomeWorker(["dry-run"], order, for: file)
    }

    /// Writes to standard error whether the job would start now.
    ///
    /// Below follow each constraint's verdict and every other reason to wait, such as a request of
    /// the run itself.
    private func say(
        of job: Job, _ planner: Planner, _ conditions: Conditions, _ moment: Moment,
        _ ledger: Ledger
    ) {
        let status = planner.statuses(at: moment, conditions: conditions, ledger: ledger)
            .first { $0.job == job.id }
        let holdings = status?.deferrals ?? []
        let console = composition.console
        console.note(
            holdings.isEmpty ? "\(job.id): would start now" : "\(job.id): would not start now")
        let names = job.constraints.map(\.name)
        for deferral in holdings
        where deferral.reason != .constraint || !names.contains(deferral.subject) {
            console.note("  waits \(deferral.waitWithSource)")
        }
        for constraint in job.constraints {
            let verdict = job.verdict(of: constraint, in: conditions, at: moment.wall)
            console.note(
                "  \(verdict.state.rawValue): \(constraint.name): \(words(verdict)) "
                    + "(\(verdict.source))")
        }
    }

    private func words(_ verdict: Verdict) -> String {
        switch verdict.constraint {
        case .login: verdict.state == .met ? "somebody is logged in" : "nobody is logged in"
        case .source: "the source file is \(verdict.measured)"
        case .batteryAbove where verdict.measured.hasPrefix("no battery"): verdict.measured
        default: "wanted \(verdict.wanted), is \(verdict.measured)"
        }
    }
}

/// `dry-run` of a job of kind `command`: shows what the job would start, and starts nothing.
struct CommandDryRun: ComposedCommand {
    let composition: Composition

    /// Shows the words, the folder and the names of the environment variables.
    ///
    /// If the program or the folder does not exist, the exit status is that of the fault that the
    /// attempt would have.
    func run(_ order: AttemptOrder, _ file: JobFile) throws(CommandFailure) -> ExitStatus {
        let plan: CommandPlan
        do throws(Failure) {
            plan = try CommandPlan(order.options)
        } catch {
            throw CommandFailure(ExitStatus(of: error.category), error.reason)
        }
        let environment: [String: String]
        do throws(Failure) {
            environment = try plan.environment(
                over: composition.commandEnvironment(file), order, startedAt: order.scheduledFor)
        } catch {
            throw CommandFailure(ExitStatus(of: error.category), error.reason)
        }
        let program = plan.program(in: environment)
        let names = environment.keys.sorted()
        composition.console.results(
            [
                "would run: \(plan.words.map(shellQuoted).joined(separator: " "))",
                "program: \(program ?? "not found in PATH")",
                "folder: \(plan.folder)\(plan.hasFolder ? "" : ", which is none")",
                "environment: \(names.joined(separator: ", "))",
                "keeps \(byteText(plan.outputLimit)) of its output",
                "dry run of `\(order.job)`: nothing was started, nothing was changed",
            ],
            PlannedCommand(job: order.job, plan: plan, program: program, variables: names))
        return program != nil && plan.hasFolder ? .done : .configuration
    }
}

/// The result of `dry-run` for a job of kind `command`.
struct PlannedCommand: Reported {
    let job: JobID
    let plan: CommandPlan
    let program: String?
    let variables: [String]

    static let report = Report<PlannedCommand>([
        Column("job", "id of the job") { $0.job.rawValue },
        Column("words", "the command line") { $0.plan.words },
        Column("program", "path of the program; none if there is no such program") {
            $0.program
        },
        Column("folder", "the working directory") { $0.plan.folder },
        Column("environment", "names of the environment variables") { $0.variables },
        Column("output_limit_bytes", "how much of the output is kept") {
            Int($0.plan.outputLimit)
        },
    ])
}
