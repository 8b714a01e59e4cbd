import ClarityTestSupport
import Testing

@testable import ClarityScheduler
@testable import clarity_jobs

@Suite("The text of an explanation")
struct ExplanationReportTests {
    /// Returns the lines that advise what to do about a job that waits for an idle machine.
    private func advice(
        _ idle: Conditions.Reading<Bool>, remedies: [String: String]
    ) throws -> [String] {
        let id = try #require(JobID("tidy"))
        let job = Job(
            id: id, kind: JobKind("cleanup"), schedule: nil, constraints: [.idle],
            unknownRules: ["idle": .wait])
        var desk = PlanningDesk([job])
        desk.conditions.idle = idle
        try desk.handle(.requested([id], isForced: false))
        let explanation = try #require(
            desk.planner.explanation(
                of: id, at: desk.moment, conditions: desk.conditions,
                ledger: try desk.store.ledger(), past: JobPast()))
        return ExplanationReport(
            job: job, explanation: explanation, pace: nil, now: desk.moment.wall, remedies: remedies
        ).lines.filter { $0.hasPrefix("to start") }
    }

    @Test func `explain says that an active machine must become idle`() throws {
        let lines = try advice(Conditions.Reading(false, source: "logind"), remedies: [:])

        #expect(lines == ["to start: leave the machine idle"])
    }

    @Test func `explain says how to make idleness known`() throws {
        let lines = try advice(
            Conditions.Reading(nil, source: "no logind"), remedies: ["idle": "run systemd-logind"])

        #expect(
            lines == [
                "to start: make known whether the machine is idle: run systemd-logind; or let it run "
                    + "without, by `constraints: { unknown: { idle: run } }`"
            ])
    }
}
