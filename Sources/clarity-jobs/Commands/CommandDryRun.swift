import ClarityHost
import ClarityScheduler
import Platform
import Reports

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
            PlannedCommand(job: order.job, plan: plan, program: program, variables: names))
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

/// The result of `dry-run` for a job of kind `command`.
struct PlannedCommand: Reported {
    let job: JobID
    let plan: CommandPlan
    let program: String?
    let variables: [String]

    static let report = Report<PlannedCommand>([
        Column("job", "id of the job") { $0.job.rawValue },
        Column("words", "the command line") { $0.plan.words },
        Column("program", "path of the program; none if there is no such program") {
            $0.program
        },
        Column("folder", "the working directory") { $0.plan.folder },
        Column("environment", "names of the environment variables") { $0.variables },
        Column("output_limit_bytes", "how much of the output is kept") {
            Int($0.plan.outputLimit)
        },
    ])
}
