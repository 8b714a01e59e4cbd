import ClarityHost
import ClarityScheduler
import Platform
import JSON

/// `dry-run` of a job of kind `command`: shows what the job would start, and starts nothing.
struct CommandDryRun {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    /// Shows the words, the folder and the names of the environment variables.
    ///
    /// If the program or the folder does not exist, the exit status is that of the fault that the
    /// attempt would have.
    func run(_ order: AttemptOrder, _ file: JobFile) throws(CommandFailure) -> ExitStatus {
        let plan: CommandPlan
        do throws(Failure) {
            plan = try CommandPlan(order.options)
        } catch {
            throw CommandFailure(ExitStatus(of: error.category), error.reason)
        }
        let environment = plan.environment(
            over: composition.commandEnvironment(file), order, startedAt: order.scheduledFor)
        let program = plan.program(in: environment)
        let names = environment.keys.sorted()
        composition.console.results(
            [
                "words: \(plan.words.map(quoted).joined(separator: " "))",
                "program: \(program ?? "not found in PATH")",
                "folder: \(plan.folder)\(plan.hasFolder ? "" : ", which is none")",
                "environment: \(names.joined(separator: ", "))",
                "kept of its output: \(plan.outputLimit) bytes",
                "dry run of `\(order.job)`: nothing was started, nothing was changed",
            ],
            [
                "job": .string(order.job.rawValue),
                "words": .array(plan.words.map { .string($0) }), "program": .text(program),
                "folder": .string(plan.folder), "environment": .array(names.map { .string($0) }),
                "output_limit_bytes": .count(Int(plan.outputLimit)),
            ])
        return program != nil && plan.hasFolder ? .done : .configuration
    }

    /// Returns a word in single quotes if a shell would not take it literally.
    private func quoted(_ word: String) -> String {
        let isPlain =
            !word.isEmpty
            && word.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                default: "-_./:=,+@%".utf8.contains(byte)
                }
            }
        return isPlain ? word : "'\(word.replacing("'", with: "'\\''"))'"
    }
}
