import ClarityTestSupport
import Glibc
import Testing

@testable import ProgramTestSupport

/// Runs what docs/scripts.md shows, from the first line to the last.
@Suite("The page about scripts", .timeLimit(.minutes(5)))
struct ScriptsPageTests {
    /// A part of the page: a job file, or commands with what they print.
    private enum Block {
        case jobFile(String)
        case session([(command: String, prints: [String])])
    }

    private static func blocks() throws -> [Block] {
        let text = String(
            decoding: try TemporaryFolder.read("\(Playground.root)/docs/scripts.md"),
            as: UTF8.self)
        let parts = text.split(separator: "```", omittingEmptySubsequences: false)
        return parts.enumerated().filter { $0.offset % 2 == 1 }.map { _, part in
            guard !part.hasPrefix("yaml\n") else { return .jobFile(String(part.dropFirst(5))) }
            var commands: [(command: String, prints: [String])] = []
            for line in part.split(separator: "\n") {
                if line.hasPrefix("$ ") {
                    commands.append((String(line.dropFirst(2)), []))
                } else {
                    commands[commands.count - 1].prints.append(String(line))
                }
            }
            return .session(commands)
        }
    }

    /// Returns a line without what differs from one machine and minute to the next.
    private static func plain(_ line: String, _ playground: Playground) -> String {
        line.replacing(playground.statePath, with: "/home/you/.local/state/clarity-jobs")
            .replacing(playground.jobFilePath, with: "/home/you/.config/clarity-jobs/jobs.yaml")
            .replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/, with: "TIME")
    }

    @Test func `each command prints what the page shows`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        try #require(mkdir("\(playground.folder.path)/photos", 0o700) == 0)
        try playground.folder.write("photos/first", [])
        var status: Int32 = 0
        var sessions = 0

        for block in try ScriptsPageTests.blocks() {
            guard case .session(let commands) = block else {
                if case .jobFile(let text) = block {
                    let own = text.replacing("/home/you", with: playground.folder.path)
                    try playground.folder.write("jobs.yaml", own.utf8)
                }
                continue
            }
            sessions += 1
            for (command, prints) in commands {
                var lines = ["\(status)"]
                if command != "echo $?" {
                    let words = command.split(separator: " ").map(String.init)
                    try #require(words.first == "clarity-jobs", "\(command)")
                    let result = try await playground.start(Array(words.dropFirst())).finish()
                    status = result.status
                    lines = (result.outputLines + result.errorLines).map {
                        ScriptsPageTests.plain($0, playground)
                    }
                }
                let shown = prints.map { ScriptsPageTests.plain($0, playground) }
                    .map {
                        $0.hasPrefix("jobs.yaml: ") ? "/home/you/.config/clarity-jobs/\($0)" : $0
                    }
                #expect(lines == shown, "\(command)")
            }
        }
        let told = String(
            decoding: try TemporaryFolder.read("\(playground.folder.path)/told.json"), as: UTF8.self
        )
        #expect(told.contains("Cannot stat: No such file or directory"), "\(told)")
        #expect(told.contains("job `nightly-backup` works again"), "\(told)")
        #expect(sessions == 6)
    }
}
