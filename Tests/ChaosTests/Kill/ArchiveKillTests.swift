import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// Kills the import of an export that overlaps with those before it, while months of the archive are
/// written anew or made one segment of many.
@Suite("A kill while the archive is written", .timeLimit(.minutes(30)))
struct ArchiveKillTests {
    @Test func `a kill at any commit or write loses and doubles no record`() async throws {
        let scene = try await ArchiveScene()
        var random = ChaosPlan.current.generator("archive-kill")
        func rules(_ point: Faultline.Point) throws -> [Faultline.Rule] {
            let count = try scene.count(of: point)
            try #require(count > 0)
            return (1...count).flatMap { nth in
                Faultline.When.allCases.map { when in
                    Faultline.Rule(
                        program: ArchiveScene.program, point: point, when: when, nth: nth,
                        action: "kill")
                }
            }
        }
        let (commits, writes) = (try rules(.commit), try rules(.write))
        let plan = ChaosPlan.current
        // The archive is written in the last transactions.
        let late = Array(commits.suffix(plan.size(slice: 4, whole: 0)))
        let drawn =
            commits.shuffled(using: &random).prefix(plan.size(slice: 1, whole: .max))
            + writes.shuffled(using: &random).prefix(plan.size(slice: 3, whole: 160))
        var line = ChaosLine("kill", measures: [.lost, .doubled, .crashes])
        var complete = 0
        for rule in late + drawn {
            let (result, struck) = try await scene.disturbed(by: rule)
            #expect(struck && result.status == 137, "\(rule): \(result)")
            line.rounds += 1
            line.faults["worker", default: 0] += struck ? 1 : 0
            complete += try await scene.prove("\(rule)", &line) ? 1 : 0
        }

        line.tell()
        // Some kills come before the archive is written, and some after it.
        #expect(complete > 0 && complete < line.rounds)
    }
}
