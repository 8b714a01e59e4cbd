import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

@Suite(
    "Several loops and one database", .serialized, .timeLimit(.minutes(50)),
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"))
struct FleetTests {
    /// Each fault once, and by turns on the leader and on a follower.
    private static let slice = Fleet.Fault.allCases.enumerated().compactMap { number, fault in
        Fleet.Strike.all.first {
            $0.fault == fault && ($0.leads == nil || $0.leads == (number % 2 == 0))
        }
    }

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
        let deadline = ContinuousClock.now + plan.span(slice: 0, whole: 1800)
        let first = plan.isWhole ? Fleet.Strike.all : FleetTests.slice
        var line = ChaosLine("fleet")
        while line.rounds < first.count || ContinuousClock.now < deadline {
            for id in scene.ids
            where plan.isWhole ? Int.random(in: 0..<8, using: &random) == 0 : true {
                try scene.grow(id, by: Int.random(in: 0...3, using: &random))
            }
            let strike =
                line.rounds < first.count
                ? first[line.rounds] : Fleet.Strike.all.randomElement(using: &random) ?? first[0]
            try await fleet.strike(strike, using: &random)
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
        let attempts = try fleet.attemptsOfLoops()
        let isEveryLoopBusy = attempts.values.allSatisfy { $0 > 0 }
        line.faults = fleet.faults.merging(
            attempts.map { ("attempts-on-\($0)", $1) }
        ) { $1 }
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
        #expect(isEveryLoopBusy || !Fleet.areNamed, "\(attempts)")
    }

    @Test(arguments: ClientMutation.allCases)
    func `a faulty client fails the part about several loops`(
        mutation: ClientMutation
    ) async throws {
        let fleet = try await Fleet(2, accounts: 4, .resend, mutation: mutation)

        try await fleet.waitForUploads()
        try await fleet.end()

        let verdict = try await fleet.scene.judge(cutShort: .init())
        switch mutation {
        case .sendsTwice: #expect(verdict.doubled > 0, "\(verdict.findings)")
        case .confirmsUnsent: #expect(verdict.lost > 0, "\(verdict.findings)")
        }
    }
}
