import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import clarity_jobs

@Suite("The runs that get a line")
struct ReportedRunsTests {
    private func desk(_ constraints: [Constraint] = []) throws -> PlanningDesk {
        PlanningDesk([
            Job(
                id: try #require(JobID("a")), kind: JobKind("work"), schedule: .every(.seconds(1)),
                constraints: constraints)
        ])
    }

    /// Returns the state and the number of attempts of each run that a plan reports.
    private func reports(_ reported: ReportedRuns, _ plan: Plan) -> [String] {
        plan.changes.compactMap(reported.run).map { "\($0.state) after \($0.attempts)" }
    }

    @Test func `a run gets a line when an attempt ends, and none for an occurrence it takes in`()
        throws
    {
        let reported = ReportedRuns()
        var desk = try desk()
        var lines = [reports(reported, try desk.handle(.tick))]
        lines.append(reports(reported, try desk.handle(.finished(RunID(1), .retry()))))
        for _ in 0..<20 {
            desk.pass(.seconds(1))
            lines.append(reports(reported, try desk.handle(.tick)))
        }
        desk.pass(.seconds(10))
        lines.append(reports(reported, try desk.handle(.tick)))

        lines.append(reports(reported, try desk.handle(.finished(RunID(1), .success()))))

        #expect(lines.filter { !$0.isEmpty } == [["enqueued after 1"], ["succeeded after 2"]])
    }

    @Test func `a scheduler that finds a run waiting for its retry gives it no line`() throws {
        var desk = try desk()
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .retry()))
        desk.pass(.seconds(1))

        let lines = reports(ReportedRuns(), try desk.handle(.tick))

        #expect(lines == [])
    }

    @Test func `a run that ends without an attempt gets a line`() throws {
        let reported = ReportedRuns()
        var desk = try desk([.idle])
        desk.conditions.idle.value = false
        let waits = reports(reported, try desk.handle(.tick))

        let cancelled = reports(reported, try desk.handle(.cancel(RunID(1))))

        #expect(waits == [])
        #expect(cancelled == ["cancelled after 0"])
    }
}
