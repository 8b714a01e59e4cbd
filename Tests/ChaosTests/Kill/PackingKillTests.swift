import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// Kills the programs while samples are packed that the backend has confirmed.
@Suite("A kill while samples are packed", .timeLimit(.minutes(10)))
struct PackingKillTests {
    @Test func `no sample is lost and none is sent twice`() async throws {
        let scene = try await PackingScene()
        var rules: [Faultline.Rule] = []
        func add(_ point: Faultline.Point, _ nth: Int) {
            for when in Faultline.When.allCases {
                rules.append(
                    Faultline.Rule(
                        program: .worker, point: point, when: when, nth: nth,
                        action: "kill-both"))
            }
        }
        for nth in max(1, scene.commits - 4)...scene.commits { add(.commit, nth) }
        for nth in stride(from: scene.writes, to: max(0, scene.writes - 240), by: -40) {
            add(.write, nth)
        }
        var hits = 0
        var halfway = 0
        for rule in rules {
            hits += try await scene.disturbed(by: rule).struck ? 1 : 0
            halfway += try scene.rows() > 0 ? 1 : 0
            try await scene.prove("\(rule)")
        }
        #expect(hits == rules.count)
        #expect(halfway > 0 && halfway < rules.count)
        try await scene.proveKnown()
    }
}
