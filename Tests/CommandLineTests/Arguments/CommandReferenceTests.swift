import Foundation
import Testing

@testable import clarity_jobs

/// `CLARITY_WRITE_DOCS=1` rewrites the reference instead of comparing it.
@Suite("The reference of docs/commands.md")
struct CommandReferenceTests {
    private static let heading = "## Reference\n\n"

    @Test func `it is what the help pages say`() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../docs/commands.md").standardized
        let text = try String(contentsOf: page, encoding: .utf8)
        let start = try #require(text.firstRange(of: Self.heading)).upperBound
        let reference = Self.reference(of: .program, path: [])

        if ProcessInfo.processInfo.environment["CLARITY_WRITE_DOCS"] != nil {
            try Data((text[..<start] + reference).utf8).write(to: page)
        } else {
            #expect(text[start...] == reference)
        }
    }

    /// Returns the help pages of a command and of all commands below it.
    private static func reference(of command: CommandSyntax, path: [String]) -> String {
        let path = path + [command.name]
        let help = command.help(path: path, common: path.count == 1 ? command.options : [])
        return "### \(path.joined(separator: " "))\n\n```\n\(help)```\n"
            + command.commands.map { "\n" + reference(of: $0, path: path) }.joined()
    }
}
