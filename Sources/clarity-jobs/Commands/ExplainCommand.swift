import ClarityHost
import ClarityScheduler
import Platform
import JSON

/// `explain JOB`: shows why a job does or does not run now.
struct ExplainCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    func run() throws(CommandFailure) -> ExitStatus {
        let operands = composition.arguments.operands
        guard operands.count == 1 else {
            throw CommandFailure(.usage, "`explain` wants one job, got \(operands.count)")
        }
        let file = try composition.jobFile()
        let job = try composition.job(named: operands[0], in: file)
        if let instant = try composition.time("at") {
            return try PastOccurrenceCommand(composition, job, file).run(instant)
        }
        // Conditions come before `moment`. A condition measured after it would look as if the clock
        // had been set back since the measurement.
        let monitor = composition.conditions(file)
        let conditions = monitor.conditions(
            asking: job.checks, of: Set([job.id.account].compactMap(\.self)))
        let moment = composition.clock.moment
        let history = try composition.history(file)
        let ledger = try askingStore { () throws(RunStoreError) in try history.ledger() }
        let past = try past(of: job.id, at: moment.wall, ledger, history)
        let explanation = composition.planner(file, owner: "", scope: .everything).explanation(
            of: job.id, at: moment,
            conditions: conditions, ledger: ledger, past: past)
        guard let explanation else {
            throw CommandFailure(.usage, "job `\(job.id)` has `enabled: false` in the job file")
        }
        // The diagnosis tests which kernel notifications work, which takes 50 ms. It is worth that
        // only if a value is unknown.
        let isUnknown = explanation.factors.contains {
            if case .makeKnown = $0.change { true } else { false }
        }
        let remedies = isUnknown ? monitor.diagnosis(asking: []).remedies : [:]
        let text = ExplanationReport(
            job: job, explanation: explanation,
            attemptSince: try attemptSince(explanation, history), remedies: remedies,
            style: composition.console.terminalStyle)
        composition.console.results(text.lines, text)
        return .done
    }

    private func past(
        of job: JobID, at now: Instant, _ ledger: Ledger, _ history: borrowing RunHistory
    ) throws(CommandFailure) -> JobPast {
        try askingStore { () throws(RunStoreError) in
            var since: [String: Instant] = [:]
            let waiting = ledger.openRuns(of: job).first { ledger.open[$0]?.state == .enqueued }
            if let run = waiting {
                for span in try history.deferrals(of: run) where span.until == nil {
                    since[span.deferral.subject] = span.since
                }
            }
            return JobPast(
                waitingSince: since,
                holds: try history.holds(job, since: now - JobPast.stretch, until: now))
        }
    }

    /// Returns the start of the running attempt; `nil` if none is running.
    private func attemptSince(
        _ explanation: JobExplanation, _ history: borrowing RunHistory
    ) throws(CommandFailure) -> Instant? {
        guard let run = explanation.status.open, run.state == .running else { return nil }
        return try askingStore { () throws(RunStoreError) in
            try history.attempts(of: run.id).last?.startedAt
        }
    }
}
