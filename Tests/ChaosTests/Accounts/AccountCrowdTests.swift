import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

@Suite("Many wearers at once", .timeLimit(.minutes(25)))
struct AccountCrowdTests {
    /// Runs with fifty accounts for a minute per policy in `make chaos`, and otherwise with six for a
    /// few seconds.
    @Test(.serialized, arguments: DeliveryJudge.Policy.drawn("accounts"))
    func `after kills, each sample is stored once, under its own wearer`(
        policy: DeliveryJudge.Policy
    ) async throws {
        let plan = ChaosPlan.current
        // Not more than the machine can do, or `run --due` would never come to an end.
        let scene = try await AccountScene(
            plan.size(slice: 6, whole: 50), policy, every: plan.isWhole ? "30s" : "2s")
        let crowd = AccountCrowd(
            scene: scene, plan: plan, length: plan.span(slice: 3, whole: 60))

        try await crowd.run()
        let leftovers = try await crowd.settle()

        let evidence = try CrowdEvidence(scene.playground)
        var cutShort = await crowd.tally.cutShort
        cutShort.attempts = evidence.killedUploads
        cutShort.killed = evidence.interruptedUploads
        let cuts = cutShort.ports.count + cutShort.attempts + cutShort.killed
        let verdict = try await scene.judge(
            cutShort: cutShort, mayBeHeld: AccountScene.batchSize * cuts)
        let complaints = await crowd.tally.complaints
        let audit = try await scene.run("audit", "--all")
        var line = ChaosLine("accounts-crowd")
        line.rounds = await crowd.tally.count
        line.faults = await crowd.tally.kills
        line.lost = verdict.lost
        line.doubled = verdict.doubled + evidence.overlaps.count
        line.stuck = verdict.stuck + evidence.open.count { !$0.hasPrefix("guest") }
        line.crashes = await crowd.tally.crashes + evidence.broken.count
        line.tell()

        #expect(complaints == [])
        #expect(leftovers == [])
        #expect(verdict.findings == [])
        #expect(evidence.overlaps == [])
        #expect(evidence.broken == [])
        #expect(
            [line.lost, line.doubled, line.stuck, line.crashes] == [0, 0, 0, 0],
            "\(evidence.open)")
        #expect(audit.status == 0, "\(audit.output)\(audit.errors)")
        #expect(evidence.attempts > scene.ids.count)
    }

    @Test(arguments: ClientMutation.allCases)
    func `a faulty client fails the part about many wearers`(
        mutation: ClientMutation
    ) async throws {
        let scene = try await AccountScene(2, .resend, mutation: mutation)

        _ = try await scene.settle()

        let verdict = try await scene.judge(cutShort: .init())
        switch mutation {
        case .sendsTwice: #expect(verdict.doubled > 0, "\(verdict.findings)")
        case .confirmsUnsent: #expect(verdict.lost > 0, "\(verdict.findings)")
        }
    }

    @Test func `a sample under another wearer fails the part about many wearers`() async throws {
        let scene = try await AccountScene(2, .deduplicates)
        let path = scene.playground.folder.path
        _ = try await scene.settle()
        let before = try await scene.judge(cutShort: .init())

        // What one wearer's source has, another's job sends.
        try scene.playground.folder.write(
            "w001.xml", try TemporaryFolder.read("\(path)/w002.xml"))
        _ = try await scene.settle()
        let after = try await scene.judge(cutShort: .init())

        #expect(before.findings == [])
        #expect(after.findings.contains { $0.hasPrefix("w001: ") && $0.contains("nobody wrote") })
    }
}
