import ClarityHost
import ClarityScheduler
import Platform
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
        func overdue(_ status: JobStatus?) -> String? {
            JobStatusText.overdue(status, now: moment.wall, lastLook: lastLook)
        }
        let statuses = planner.statuses(
            at: moment,
            conditions: composition.conditions(file).conditions(of: ledger.accountsInNeed),
            ledger: ledger)
        let known = Dictionary(
            statuses.map { ($0.job, $0) }, uniquingKeysWith: { first, _ in first })
        var table = Table(heading: ["JOB", "KIND", "CLASS", "NEXT", "STATE", "WAITING ON"])
        table.stateColumn = 4
        table.rows = file.jobs.map { job in
            let status = known[job.id]
            return [
                job.id.rawValue, job.kind.rawValue, job.jobClass.rawValue,
                status?.nextStart.map(RunText.seconds) ?? "-", state(status),
                overdue(status) ?? waits(waitsFor(status), setBackUntil: status?.setBackUntil),
            ]
        }
        composition.console.results(
            file.jobs.map { job in
                object(job, known[job.id], overdue: overdue(known[job.id]))
            }, table: table)
        return .done
    }

    private func object(_ job: Job, _ status: JobStatus?, overdue: String?) -> JSON {
        [
            "job": .string(job.id.rawValue), "kind": .string(job.kind.rawValue),
            "class": .string(job.jobClass.rawValue), "next": .text(status?.nextStart),
            "set_back_until": .text(status?.setBackUntil), "state": .string(state(status)),
            "overdue": .text(overdue),
            "waiting_on": .array(waitsFor(status).map { .object(RunText.members($0)) }),
        ]
    }

    /// Returns the reasons why the job waits; empty while it runs.
    private func waitsFor(_ status: JobStatus?) -> [Deferral] {
        guard let status, status.open?.state != .running else { return [] }
        return status.deferrals
    }

    /// Returns the table cell that says what the job waits for.
    ///
    /// `not due` replaces every reason that is only a time, because the column beside it shows
    /// that.
    private func waits(_ deferrals: [Deferral], setBackUntil: Instant?) -> String {
        let others = deferrals.filter { $0.reason != .notDue }
        if others.isEmpty {
            let setBack = setBackUntil.map { "; \(JobStatusText.setBack(until: $0))" } ?? ""
            return deferrals.isEmpty ? "" : "not due\(setBack)"
        }
        return others.map(RunText.line).joined(separator: "; ")
    }

    /// Returns `disabled`, the state of the unfinished run, or `idle`.
    private func state(_ status: JobStatus?) -> String {
        guard let status else { return "disabled" }
        return status.open?.state.rawValue ?? "idle"
    }
}
