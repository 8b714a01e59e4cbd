import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

@Suite(
    "Several loops and one database", .serialized, .timeLimit(.minutes(50)),
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"))
struct FleetTests {
    /// Four loops with 200 accounts for half an hour in `make chaos`, and otherwise three with four
    /// for a few faults.
    @Test func `whichever loop dies, freezes or loses the database, each sample arrives once`()
        async throws
    {
        let plan = ChaosPlan.current
        var random = plan.generator("fleet")
        let fleet = try await Fleet(
            plan.size(slice: 3, whole: 4), accounts: plan.size(slice: 4, whole: 200),
            .deduplicates, every: plan.isWhole ? "45s" : "2s")
        let scene = fleet.scene
        let deadline = ContinuousClock.now + .seconds(plan.size(slice: 0, whole: 1800))
        var line = ChaosLine("fleet")
        while line.rounds < Fleet.Fault.allCases.count || ContinuousClock.now < deadline {
            for id in scene.ids
            where plan.isWhole ? Int.random(in: 0..<8, using: &random) == 0 : true {
                try scene.grow(id, by: Int.random(in: 0...3, using: &random))
            }
            let fault =
                line.rounds < Fleet.Fault.allCases.count
                ? Fleet.Fault.allCases[line.rounds]
                : Fleet.Fault.allCases.randomElement(using: &random) ?? .kill
            try await fleet.strike(fault, using: &random)
            try await Task.sleep(for: .milliseconds(Int.random(in: 200...3000, using: &random)))
            line.rounds += 1
        }
        try await fleet.end()
        try scene.quiet()
        let leftovers = try await scene.settle()
        try await scene.finishOpenRuns()
        let audit = try await scene.run("audit", "--all")

        let evidence = try CrowdEvidence(scene.playground)
        var cutShort = DeliveryJudge.CutShort()
        cutShort.ports = fleet.cutPorts
        let verdict = try await scene.judge(
            cutShort: cutShort, attempts: try fleet.uploadsCutShort())
        line.faults = fleet.faults
        line.lost = verdict.lost
        line.doubled = verdict.doubled + evidence.overlaps.count
        line.stuck = verdict.stuck + evidence.open.count
        line.crashes = fleet.ended.count + evidence.broken.count
        line.tell()

        #expect(leftovers == [])
        let ends = try fleet.endsOfUploads(in: verdict.findings)
        #expect(verdict.findings == [], "\(ends)")
        #expect(fleet.ended == [])
        #expect(evidence.overlaps == [])
        #expect(evidence.open == [])
        #expect(evidence.broken == [])
        #expect([line.lost, line.doubled, line.stuck, line.crashes] == [0, 0, 0, 0])
        #expect(audit.status == 0, "\(audit.output)\(audit.errors)")
        #expect(evidence.attempts > scene.ids.count)
    }

    @Test(arguments: ClientMutation.allCases)
    func `a faulty client fails the part about several loops`(
        mutation: ClientMutation
    ) async throws {
        let fleet = try await Fleet(0, accounts: 2, .resend, mutation: mutation)

        _ = try await fleet.scene.settle()

        let verdict = try await fleet.scene.judge(cutShort: .init())
        switch mutation {
        case .sendsTwice: #expect(verdict.doubled > 0, "\(verdict.findings)")
        case .confirmsUnsent: #expect(verdict.lost > 0, "\(verdict.findings)")
        }
    }
}
