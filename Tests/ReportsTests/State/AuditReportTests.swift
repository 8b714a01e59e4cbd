import HealthStore
import ClarityTestSupport
import JSON
import Testing

@testable import Reports

struct AuditReportTests {
    @Test func `an entry of an attempt names its job, run and attempt`() throws {
        let bench = try StoreBench()
        let actor = AuditActor(program: "worker", job: "upload", run: 1, attempt: 2)
        try bench.store(as: actor).audit.record(
            .sent, ["heart_rate": 3], detail: "the backend took it")

        let record = try #require(try bench.store().audit.records(limit: 9).last)

        #expect(
            record.line
                == "\(record.number)  \(bench.clock.now)  sent  heart_rate 3  "
                + "(the backend took it)  upload run 1 attempt 2")
        #expect(
            record.object.line.hasSuffix(
                #""action":"sent","program":"worker","job":"upload","run":1,"attempt":2,"#
                    + #""counts":{"heart_rate":3},"detail":"the backend took it"}"#))
    }
}
