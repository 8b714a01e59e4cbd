import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// Checks that each part fails when the client sends everything twice, and when it reports unsent
/// samples as delivered. A proof that cannot fail proves nothing.
///
/// The client has no such fault: a proxy in front of the backend makes it look faulty. Each part
/// judges with the same function as in its own tests.
@Suite("A faulty client fails each part", .timeLimit(.minutes(5)))
struct MutationTests {
    private static let lives = UndisturbedLives()

    @Test(arguments: ClientMutation.allCases)
    func `a faulty client fails the part about kills`(mutation: ClientMutation) async throws {
        var setting = KillSetting(backend: .blueprint, way: .upload)
        let life = try await MutationTests.lives.life(setting)
        setting.mutation = mutation
        let rule = Faultline.Rule(
            program: .worker, point: .send, when: .after, nth: 3, action: "kill")

        let report = try await KillRound(setting, .worker, rule).run(against: life)

        #expect(report.hit)
        expectRed(mutation, lost: report.lost, doubled: report.doubled, report.findings)
    }

    @Test(arguments: ClientMutation.allCases)
    func `a faulty client fails the part about crowds`(mutation: ClientMutation) async throws {
        let scene = try await CrowdScene(.resend, mutation: mutation)
        let round = CrowdRound(scene, .current, length: .milliseconds(1))

        try await round.run()
        _ = try await round.settle()

        let verdict = try await scene.delivery(cutShort: round.tally.cutShort)
        expectRed(mutation, lost: verdict.lost, doubled: verdict.doubled, verdict.findings)
    }

    @Test(arguments: ClientMutation.allCases)
    func `a faulty client fails the part about a long load`(mutation: ClientMutation) async throws {
        let scene = try await CrowdScene(mutation: mutation)
        let loop = try WatchedLoop(scene.playground, every: 100)

        // Either upload may send everything, and one that sends nothing prints nothing.
        func hasUploaded() -> Bool {
            CrowdScene.uploads.contains { loop.lastLine.hasPrefix("\($0): succeeded") }
        }
        while try await loop.next(), !hasUploaded() {}
        _ = await loop.end()

        let verdict = try await scene.delivery(cutShort: .init())
        expectRed(mutation, lost: verdict.lost, doubled: verdict.doubled, verdict.findings)
    }

    @Test(arguments: ClientMutation.allCases)
    func `a faulty client fails the part about a faulty world`(mutation: ClientMutation)
        async throws
    {
        let scene = try await WorldScene(.hold, mutation: mutation, isFresh: true)
        try scene.addSamples(24)

        let proof = try await scene.proof()

        expectRed(mutation, lost: proof.lost, doubled: proof.doubled, proof.findings)
    }

    @Test(arguments: ClientMutation.allCases)
    func `a faulty client fails the part about damaged files`(mutation: ClientMutation) async throws
    {
        let kept = try await KeptState(mutation: mutation)

        let faults = try await kept.faultsAfterCleanRun()
        let verdict = try await kept.delivery()

        #expect(Set(faults).isSuperset(of: verdict.findings), "\(faults)")
        expectRed(mutation, lost: verdict.lost, doubled: verdict.doubled, verdict.findings)
    }

    private func expectRed(
        _ mutation: ClientMutation, lost: Int, doubled: Int, _ findings: [String],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let words: Comment = "lost \(lost), doubled \(doubled): \(findings)"
        #expect(!findings.isEmpty, words, sourceLocation: sourceLocation)
        switch mutation {
        case .sendsTwice: #expect(doubled > 0, words, sourceLocation: sourceLocation)
        case .confirmsUnsent:
            #expect(lost > 0, words, sourceLocation: sourceLocation)
            #expect(
                findings.contains { $0.contains("called delivered") }, words,
                sourceLocation: sourceLocation)
        }
    }
}
