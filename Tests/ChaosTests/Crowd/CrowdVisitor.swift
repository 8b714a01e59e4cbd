@testable import ProgramTestSupport
import ClarityScheduler

/// A `clarity-jobs` command that a member of the crowd runs, and the statuses with which it may
/// end.
struct CrowdVisitor: Sendable {
    /// The first words of the command, by which visits are counted.
    let name: String
    let arguments: [String]
    /// The documented statuses that are possible here.
    let statuses: Set<Int32>

    init(_ name: String, _ more: [String] = [], _ statuses: Set<Int32> = [0]) {
        self.name = name
        arguments = name.split(separator: " ").map(String.init) + more
        self.statuses = statuses
    }

    /// The command that cron runs. Its runs succeed or wait, or another process cancels one of
    /// them.
    static let due = CrowdVisitor("run --due", [], [0, 1, 75])

    /// Draws a visitor. About half of the visitors change something.
    static func draw(
        _ scene: CrowdScene, using random: inout SeededGenerator
    ) throws -> CrowdVisitor {
        func job() -> String { CrowdScene.jobs.randomElement(using: &random) ?? "refresh" }
        switch Int.random(in: 0..<21, using: &random) {
        case 0, 1: return CrowdVisitor("run", [job()], [0, 1, 75])
        case 2: return CrowdVisitor("run cleanup", [], [0, 1, 75])
        // The job may have no unfinished run, or no run to retry.
        case 3: return CrowdVisitor("cancel", [job()], [0, 64])
        case 4: return CrowdVisitor("retry", [job()], [0, 64])
        case 5: return CrowdVisitor("pause", [job(), "--for", "2s", "--reason", "crowd"])
        case 6: return CrowdVisitor("resume --all")
        case 7, 8, 9:
            let start = Int.random(in: CrowdScene.minutes.dropLast(400), using: &random)
            let count = Int.random(in: 1...400, using: &random)
            let name = "import-\(Int.random(in: 0..<1 << 40, using: &random)).xml"
            let file = try scene.writeExport(name, start..<start + count)
            return CrowdVisitor("import", [file])
        case 10:
            try scene.growSource(by: Int.random(in: 1...20, using: &random))
            return CrowdVisitor("sources")
        case 11: return CrowdVisitor("explain", [job()])
        case 12: return CrowdVisitor("outbox")
        case 13: return CrowdVisitor("metrics")
        case 14: return CrowdVisitor("history", [job(), "-n", "100", "--output", "json"])
        case let number where [15, 19].contains(number) && scene.playground.database != nil:
            return CrowdVisitor("store status")
        case 15: return CrowdVisitor("key status")
        case 16: return CrowdVisitor("audit log --verify")
        case 17: return CrowdVisitor("list --output json")
        case 18:
            // The run may not exist yet.
            let run = Int.random(in: 1...200, using: &random)
            return CrowdVisitor("history show", [String(run)], [0, 64])
        case 19: return CrowdVisitor("backup", ["--keep", "2"])
        default: return CrowdVisitor("audit")
        }
    }
}
