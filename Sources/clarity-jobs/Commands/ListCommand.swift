import ClarityHost
import ClarityScheduler
import ClaritySystem
import JSON

/// `list`: lists the jobs, when each runs next and what it waits for.
struct ListCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    func run() throws(CommandFailure) -> ExitStatus {
        let file = try composition.jobFile()
        let history = try composition.history(file)
        let planner = composition.planner(file, owner: "", scope: .everything)
        let ledger = try askingStore { () throws(RunStoreError) in try history.ledger() }
        let moment = composition.clock.moment
        let lastLook = ledger.lastLook(before: moment.wall)
        func overdue(_ standing: JobStatus?) -> String? {
            JobStatusText.overdue(standing, now: moment.wall, lastLook: lastLook)
        }
        let standings = planner.standings(
            at: moment, conditions: composition.conditions(file).conditions(), ledger: ledger)
        let known = Dictionary(uniqueKeysWithValues: standings.map { ($0.job, $0) })
        var table = Table(heading: ["JOB", "KIND", "CLASS", "NEXT", "STATE", "WAITING ON"])
        table.rows = file.jobs.map { job in
            let standing = known[job.id]
            return [
                job.id.rawValue, job.kind.rawValue, job.jobClass.rawValue,
                standing?.nextStart.map(RunText.seconds) ?? "-", state(standing),
                overdue(standing) ?? waits(waitsFor(standing)),
            ]
        }
        composition.console.results(
            file.jobs.map { job in
                object(job, known[job.id], overdue: overdue(known[job.id]))
            }, table: table)
        return .done
    }

    private func object(_ job: Job, _ standing: JobStatus?, overdue: String?) -> JSON {
        [
            "job": .string(job.id.rawValue), "kind": .string(job.kind.rawValue),
            "class": .string(job.jobClass.rawValue), "next": .text(standing?.nextStart),
            "state": .string(state(standing)), "overdue": .text(overdue),
            "waiting_on": .array(waitsFor(standing).map { .object(RunText.members($0)) }),
        ]
    }

    /// Returns the reasons why the job waits; empty while it runs.
    private func waitsFor(_ standing: JobStatus?) -> [Deferral] {
        guard let standing, standing.open?.state != .running else { return [] }
        return standing.deferrals
    }

    /// Returns the table cell that says what the job waits for.
    ///
    /// `not due` replaces every reason that is only a time, because the column beside it shows
    /// that.
    private func waits(_ deferrals: [Deferral]) -> String {
        let others = deferrals.filter { $0.reason != .notDue }
        if others.isEmpty { return deferrals.isEmpty ? "" : "not due" }
        return others.map(RunText.line).joined(separator: "; ")
    }

    /// Returns `disabled`, the state of the unfinished run, or `idle`.
    private func state(_ standing: JobStatus?) -> String {
        guard let standing else { return "disabled" }
        return standing.open?.state.rawValue ?? "idle"
    }
}
