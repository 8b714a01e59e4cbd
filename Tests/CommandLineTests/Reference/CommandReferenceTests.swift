import Platform
import Testing

@testable import clarity_jobs

@Suite("The reference of docs/commands.md")
struct CommandReferenceTests {
    @Test func `the reference is generated from the help pages`() throws {
        let page = try ReferencePage("commands.md")

        try page.check(Self.reference(of: .program, path: []))
    }

    @Test func `the page has every exit status`() throws {
        let rows = ExitStatus.allCases.map { "| \($0.rawValue) | \($0.summary) |\n" }.joined()

        #expect(try ReferencePage("commands.md").text.contains("|---|---|\n\(rows)\n"))
    }

    /// Returns the help pages of a command and of all commands below it.
    private static func reference(of command: CommandSyntax, path: [String]) -> String {
        let path = path + [command.name]
        let help = command.help(path: path, common: path.count == 1 ? command.options : [])
        return "### \(path.joined(separator: " "))\n\n```\n\(help)```\n"
            + command.commands.map { "\n" + reference(of: $0, path: path) }.joined()
    }
}
