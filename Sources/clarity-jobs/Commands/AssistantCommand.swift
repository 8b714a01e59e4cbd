import ClarityHost
import ClarityScheduler
import HealthStore
import Platform

/// `mcp`: answers the questions of an assistant on standard input and output, in a program of its own.
struct AssistantCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    /// - Throws: `CommandFailure` (configuration) unless the job file allows an assistant something.
    func run() throws(CommandFailure) -> Never {
        guard composition.arguments.operands.isEmpty else {
            throw CommandFailure(.usage, "`mcp` takes no operand")
        }
        let file = try composition.jobFile()
        guard file.accounts == nil || file.account != nil else {
            throw CommandFailure(
                .usage, "`mcp` is of one account", "help: clarity-jobs --account ID mcp")
        }
        let allowed = try readingSections { () throws(Failure) in
            try file.sections.assistant.allowed
        }
        guard !allowed.isEmpty else {
            throw CommandFailure(
                .configuration, "the job file allows an assistant nothing",
                "help: name what it may read, such as `mcp: { sleep: true, activity: true }`")
        }
        let words = [
            "mcp", try composition.ownProgram(), composition.foundJobFilePath,
            composition.statePath(file), allowed.joined(separator: ","),
        ]
        try composition.exec(
            "clarity-jobs-web", words + [file.account?.id.rawValue].compactMap(\.self), for: file)
    }
}
