@testable import ProgramTestSupport
import Testing

/// The judge of a kill must find each fault. Otherwise a thousand rounds without a finding prove
/// nothing.
@Suite("The check of the state after a kill")
struct KillLedgerTests {
    /// A difference from an undisturbed life, and the findings that the judge must make.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var backend = KillSetting.Backend.blueprint
        var lost = 0
        var stuck = 0
        var findings: [String] = []
        var change: @Sendable (inout KillLedger) -> Void
    }

    @Test(arguments: [
        Case(testDescription: "nothing differs") { _ in },
        Case(
            testDescription: "two are lost", lost: 2,
            findings: [
                "2 samples never reached the backend: "
                    + "[\"heartRate 60.0 at 2026-10-02T00:00:00Z\", "
                    + "\"heartRate 61.0 at 2026-10-02T00:01:00Z\"]"
            ]
        ) { $0.record.samples.removeFirst(2) },
        Case(
            testDescription: "one is not sent", findings: ["1 samples were not sent"]
        ) { $0.samples = ["confirmed": 99, "sending": 1] },
        Case(
            testDescription: "one is forgotten",
            findings: ["the outbox has 99 samples, 100 undisturbed"]
        ) { $0.samples = ["confirmed": 99] },
        Case(
            testDescription: "more in doubt than was under way", backend: .resend,
            findings: ["21 samples are in doubt"]
        ) { $0.claims.possibleCopies = 21 },
        Case(
            testDescription: "more held than was under way", backend: .hold, stuck: 21,
            findings: [
                "21 samples are on hold whose every upload was answered", "21 samples are in doubt",
            ]
        ) {
            $0.claims.held = 21
            $0.samples = ["confirmed": 79, "setAside": 21]
        },
        Case(
            testDescription: "held by who sends again", backend: .resend,
            findings: ["20 samples more are set aside"]
        ) { $0.samples = ["confirmed": 80, "setAside": 20] },
        Case(
            testDescription: "rejected", findings: ["1 samples more are rejected"]
        ) { $0.samples = ["confirmed": 99, "rejected": 1] },
        Case(
            testDescription: "a run without end", stuck: 1, findings: ["no end: upload is running"]
        ) { $0.open = ["upload is running"] },
        Case(testDescription: "an insight that is looked for") {
            $0.insights -= 1
            $0.insightsInDoubt = 1
            $0.open = ["insight is enqueued until 7"]
        },
        Case(
            testDescription: "an insight that nobody looks for", stuck: 1,
            findings: ["no end: insight is enqueued until 7", "23 insights, 24 undisturbed"]
        ) {
            $0.insights -= 1
            $0.open = ["insight is enqueued until 7"]
        },
        Case(testDescription: "a second insight", findings: ["25 insights, 24 undisturbed"]) {
            $0.insights += 1
        },
        Case(
            testDescription: "a worker that broke",
            findings: ["run 3: its worker was ended by signal 6"]
        ) { $0.broken = ["run 3: its worker was ended by signal 6"] },
        Case(testDescription: "damage", findings: ["row 3 missing from index"]) {
            $0.damage = ["row 3 missing from index"]
        },
    ])
    func `each fault after a kill is found, and nothing else`(row: Case) {
        let setting = KillSetting(backend: row.backend, way: .due)
        var undisturbed = KillLedger()
        undisturbed.record.samples =
            setting.expected.sorted { $0.start < $1.start }
            .filter { $0.kind == .heartRate }.map(Self.stored)
            + setting.expected.filter { $0.kind == .steps }.map(Self.stored)
        undisturbed.insights = 24
        undisturbed.analyses = 1
        undisturbed.samples = ["confirmed": 100]
        var ledger = undisturbed
        row.change(&ledger)

        let verdict = ledger.verdict(setting, undisturbed: undisturbed)

        #expect(verdict.findings == row.findings)
        #expect(verdict.lost == row.lost)
        #expect(verdict.stuck == row.stuck)
    }

    /// Returns a sample as the sandbox stores it.
    private static func stored(_ sample: ExpectedSample) -> SendRecord.Sample {
        SendRecord.Sample(
            id: sample.description, user: "demo@example.com",
            type: sample.kind == .steps ? "activity_level" : "heart_rate",
            start: sample.start, value: sample.value, copies: 1)
    }
}
