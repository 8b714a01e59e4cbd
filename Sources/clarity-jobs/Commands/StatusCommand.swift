import ClarityHost
import ClarityScheduler

/// `status`: shows which freshness goals hold.
///
/// This program determines the state of the jobs. It passes the states and the goals to
/// `clarity-jobs-worker`, which opens the health data.
struct StatusCommand {
    private let composition: Composition

    /// The largest number of jobs whose states fit into an order.
    private static let mostJobs = 100

    init(_ composition: Composition) { self.composition = composition }

    func run() throws(CommandFailure) -> ExitStatus {
        guard composition.arguments.operands.isEmpty else {
            throw CommandFailure(.usage, "`status` takes no operands")
        }
        let file = try composition.jobFile()
        let moment = composition.clock.moment
        var options = file.settings.filter { $0.key.hasPrefix("fresh.") }
        for (index, job) in file.jobs.prefix(StatusCommand.mostJobs).enumerated() {
            options["jobs.\(index).id"] = job.id.rawValue
            options["jobs.\(index).kind"] = job.kind.rawValue
        }
        try addStandings(of: file, at: moment, to: &options)
        options["state.directory"] = composition.statePath(file)
        options["key.variable"] = file.settings["key.variable"]
        guard let name = JobID("status") else {
            throw CommandFailure(.internalFault, "no name for the order")
        }
        try OrderHandover.give(
            AttemptOrder(
                run: RunID(0), job: name, kind: JobKind("status"), attempt: 1, generation: 1,
                scheduledFor: moment.wall, timeout: .zero, warning: .zero, memoryLimitBytes: 0,
                options: options))
        var words = ["status", "--output", composition.console.form.rawValue]
        if composition.console.isQuiet { words.append("--quiet") }
        try composition.become("clarity-jobs-worker", words, for: file)
    }

    /// Returns the longest time between two of a job's next ten occurrences; `nil` if there are
    /// fewer than two.
    private static func gap(of job: Job, after now: Instant) -> Duration? {
        guard let schedule = job.schedule else { return nil }
        var longest: Duration?
        var last = now
        for _ in 0..<10 {
            guard let next = schedule.next(after: last, anchor: now) else { break }
            if last > now { longest = max(longest ?? .zero, next - last) }
            last = next
        }
        return longest
    }

    /// Adds the state of each job. It runs no checks, because a check could send a request.
    private func addStandings(
        of file: JobFile, at moment: Moment, to options: inout [String: String]
    ) throws(CommandFailure) {
        let history = try composition.history(file)
        let ledger = try askingStore { () throws(RunStoreError) in try history.ledger() }
        let planner = composition.planner(file, owner: "", scope: .everything)
        let standings = planner.standings(
            at: moment, conditions: composition.conditions(file).conditions(), ledger: ledger)
        let known = Dictionary(uniqueKeysWithValues: standings.map { ($0.job, $0) })
        let lastLook = ledger.lastLook(before: moment.wall)
        for (index, job) in file.jobs.prefix(StatusCommand.mostJobs).enumerated() {
            var facts = JobStatusText.Facts(
                isDisabled: file.disabled.contains(job.id), standing: known[job.id])
            facts.now = moment.wall
            facts.lastLook = lastLook
            let success = try askingStore { () throws(RunStoreError) -> Instant? in
                facts.last = try history.runs(of: job.id, limit: 1).first
                if let run = facts.standing?.open, run.state == .enqueued {
                    for span in try history.deferrals(of: run.id) where span.until == nil {
                        facts.since[span.deferral.subject] = span.since
                    }
                }
                return try history.lastSuccess(of: job.id)
            }
            options["jobs.\(index).standing"] =
                printable(JobStatusText.words(facts)).prefix(300).description
            options["jobs.\(index).held_back"] = "\(JobStatusText.isHeldBack(facts))"
            options["jobs.\(index).overdue"] = "\(facts.standing?.overdueSince != nil)"
            options["jobs.\(index).last_success"] = success?.description
            options["jobs.\(index).gap"] = StatusCommand.gap(of: job, after: moment.wall)
                .map { "\($0.milliseconds)" }
        }
    }
}
