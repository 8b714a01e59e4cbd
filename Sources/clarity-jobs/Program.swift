import CLinux
import HealthStore
import Platform
import ClarityScheduler
import ClarityHost
@preconcurrency import Glibc
import Synchronization

/// `clarity-jobs`: parses the command line, runs the command, and turns errors into lines and an
/// exit status.
@main
enum Program {
    static func main() {
        openStandardDescriptors()
        // A reader that goes away, as `head` does, must not kill a command halfway.
        signal(SIGPIPE, SIG_IGN)
        // Nor a limit on the size of files (RLIMIT_FSIZE): the write fails, as on a full disk.
        signal(SIGXFSZ, SIG_IGN)
        // Files that the program creates are readable only by their owner.
        umask(0o077)
        // The master key may be in this program's environment, and would be in a memory dump.
        if clinux_forbid_core_dump(getpid()) != 0 {
            Console.fault(
                "clarity-jobs: cannot forbid core dumps: \(SystemError().text)")
        }
        let serviceManager = ServiceManager.takeFromEnvironment()
        // The job file says where the data is, and which accounts have keys of their own.
        for name in [ServerAccount.variable, AccountEnvironment.wraps] { unsetenv(name) }
        let environment = Environment.all()
        let parser = ArgumentParser(root: .program, environment: environment)
        do throws(UsageFault) {
            let (command, arguments) = try parser.parse(readArguments())
            if arguments.path != ["loop"] { clinux_take_hangup() }
            exit(run(command, arguments, environment, serviceManager).rawValue)
        } catch {
            Console.fault("clarity-jobs: \(error.message)")
            let command = (["clarity-jobs"] + error.path).joined(separator: " ")
            Console.fault("help: \(command) --help")
            exit(ExitStatus.usage.rawValue)
        }
    }

    private static func run(
        _ command: CommandSyntax, _ arguments: Arguments, _ environment: [String: String],
        _ serviceManager: ServiceManager?
    ) -> ExitStatus {
        let console = Console(
            form: arguments["output"].flatMap { Console.Form(rawValue: $0) } ?? .table,
            isQuiet: arguments.has("quiet"), isVerbose: arguments.has("verbose"))
        let isBare = arguments.path.isEmpty && arguments.operands.isEmpty
        if arguments.has("help") || isBare && !arguments.has("version") {
            let path = ["clarity-jobs"] + arguments.path
            let page = command.help(path: path, common: CommandSyntax.program.options)
            page.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
                .forEach { console.result(String($0)) }
            return arguments.has("help") ? .done : .usage
        }
        do throws(CommandFailure) {
            let composition = try Composition(
                arguments: arguments, environment: environment, console: console,
                serviceManager: serviceManager)
            let status =
                arguments.has("version")
                ? try ReferenceCommands(composition).version()
                : try perform(arguments.path, composition)
            guard let problem = console.lostResult else { return status }
            Console.fault("clarity-jobs: cannot write to standard output: \(problem)")
            return status.joined(with: .disk)
        } catch {
            // The `--account` of `init` asks whether there is an account, and names none.
            let account = arguments.path == ["init"] ? nil : arguments["account"]
            let lines = error.lines.map { $0.namingAccount(account) }
            for (index, line) in lines.enumerated() {
                let isPlace = error.status == .faultyInput
                Console.fault(index == 0 && !isPlace ? "clarity-jobs: \(line)" : line)
            }
            return error.status
        }
    }

    private static func perform(
        _ path: [String], _ composition: Composition
    ) throws(CommandFailure) -> ExitStatus {
        switch path {
        case ["init"]: try InitCommand(composition).run()
        case ["demo"]: try DemoCommand(composition).run()
        case ["uninstall"]: try UninstallCommand(composition).run()
        case ["run"]: try RunCommand(composition).run()
        case ["loop"]:
            try runBlocking { events throws(CommandFailure) in
                try await LoopCommand(composition).run(on: events)
            }
        case ["dry-run"]: try DryRunCommand(composition).run()
        case ["status"]: try StatusCommand(composition).run()
        case ["list"]: try ListCommand(composition).run()
        case ["next"]: try NextCommand(composition).run()
        case ["explain"]: try ExplainCommand(composition).run()
        case ["simulate"]: try SimulateCommand(composition).run()
        case ["history"]: try HistoryCommand(composition).run()
        case ["tonight"]: try TonightCommand(composition).run()
        case ["history", "waits"]: try WaitsCommand(composition).run()
        case ["history", "missed"]: try MissedCommand(composition).run()
        case ["history", "show"]: try HistoryShowCommand(composition).run()
        case ["doctor"]: try DoctorCommand(composition).run()
        case ["accounts", "list"]: try AccountsCommand(composition).list()
        case ["accounts", "show"]: try AccountsCommand(composition).show()
        case ["accounts", "add"]: try AccountFiles(composition).add()
        case ["accounts", "remove"]: try AccountRemoval(composition).run()
        case ["audit"]: try AuditCommand(composition).run()
        case ["audit", "log"]: try AuditLogCommand(composition).run()
        case ["outbox"]: try OutboxCommand(composition).sums()
        case ["outbox", "list"]: try OutboxCommand(composition).list()
        case ["outbox", "show"]: try OutboxCommand(composition).show()
        case ["outbox", "retry"]: try OutboxCommand(composition).retry()
        case ["outbox", "discard"]: try OutboxCommand(composition).discard()
        case ["outbox", "erase"]: try OutboxCommand(composition).erase()
        case ["backup"]: try BackupCommand(composition).make()
        case ["backup", "list"]: try BackupCommand(composition).list()
        case ["restore"]: try RestoreCommand(composition).run()
        case ["key", "rotate"]: try KeyCommand(composition).rotate()
        case ["key", "status"]: try KeyCommand(composition).status()
        case ["store", "init"]: try StoreCommand(composition).make()
        case ["store", "migrate"]: try StoreCommand(composition).migrate()
        case ["store", "copy"]: try StoreCopyCommand(composition).run()
        case ["store", "status"]: try StoreCommand(composition).status()
        case ["logs"]: try LogsCommand(composition).run()
        case ["pause"]: try PauseCommands(composition).pause()
        case ["resume"]: try PauseCommands(composition).resume()
        case ["backfill"]: try BackfillCommand(composition).run()
        case ["cancel"]: try RunRequests(composition).cancel()
        case ["retry"]: try RunRequests(composition).retry()
        case ["validate"]: try ValidateCommand(composition).run()
        case ["trace", "record"]:
            try runBlocking { events throws(CommandFailure) in
                try await TraceRecordCommand(composition).run(on: events)
            }
        case ["import"]: try SourceCommands(composition).importFile()
        case ["import-jobs", "crontab"]: try ImportJobsCommand(composition).crontab()
        case ["import-jobs", "systemd"]: try ImportJobsCommand(composition).systemd()
        case ["sources"]: try SourceCommands(composition).list()
        case ["metrics"]: try ReadingCommands(composition).metrics()
        case ["records"]: try ReadingCommands(composition).records()
        case ["nights"]: try ReadingCommands(composition).nights()
        case ["workouts"]: try ReadingCommands(composition).workouts()
        case ["mcp"]: try AssistantCommand(composition).run()
        case ["activity"]: try ReadingCommands(composition).activity()
        case ["diary"]: try ReadingCommands(composition).diary()
        case ["ecgs"]: try ReadingCommands(composition).electrocardiograms()
        case ["trends"]: try ReadingCommands(composition).trends()
        case ["year"]: try ReadingCommands(composition).year()
        case ["export-data"]: try ExportDataCommand(composition).run()
        case ["report"]: try ReportCommand(composition).run()
        case ["insights"]: try ReadingCommands(composition).insights()
        case ["analyses"]: try ReadingCommands(composition).analyses()
        case ["profile"]: try ReadingCommands(composition).profile()
        case ["summary"]: try ReadingCommands(composition).summary()
        case ["archive", "list"]: try ReadingCommands(composition).archiveList()
        case ["archive", "show"]: try ReadingCommands(composition).archiveShow()
        case ["auth", "login"]: try AuthCommand(composition).login()
        case ["auth", "register"]: try AuthCommand(composition).register()
        case ["auth", "verify"]: try AuthCommand(composition).verify()
        case ["auth", "resend-code"]: try AuthCommand(composition).resendCode()
        case ["auth", "reset-password"]: try AuthCommand(composition).resetPassword()
        case ["auth", "logout"]: try AuthCommand(composition).logout()
        case ["auth", "status"]: try AuthCommand(composition).status()
        case ["notices"], ["notices", "list"]: try NoticeCommands(composition).list()
        case ["notify", "test"]: try NoticeCommands(composition).test()
        case ["notify", "failed"]: try NoticeCommands(composition).failed()
        case ["exporter"]: try ExporterCommand(composition).run()
        case ["receive"]: try ReceiveCommand(composition).run()
        case ["receive", "token", "add"]: try TokenCommands(composition, for: .pushes).add()
        case ["receive", "token", "list"]: try TokenCommands(composition, for: .pushes).list()
        case ["receive", "token", "revoke"]: try TokenCommands(composition, for: .pushes).remove()
        case ["serve"]: try ServeCommand(composition).run()
        case ["serve", "link"]: try ServeCommand(composition).link()
        case ["serve", "password"]: try ServeCommand(composition).password()
        case ["serve", "sessions", "list"]: try ServeCommand(composition).listSessions()
        case ["serve", "sessions", "end"]: try ServeCommand(composition).endSessions()
        case ["serve", "token", "add"]: try TokenCommands(composition, for: .runs).add()
        case ["serve", "token", "list"]: try TokenCommands(composition, for: .runs).list()
        case ["serve", "token", "remove"]: try TokenCommands(composition, for: .runs).remove()
        case ["completion"]: try ReferenceCommands(composition).completion()
        case ["completion", "words"]: ReferenceCommands(composition).completionWords()
        case ["manual"]: try ReferenceCommands(composition).manual()
        case ["schema"], ["schema", "job-file"]: ReferenceCommands(composition).jobFileSchema()
        case ["schema", "results"]: ReferenceCommands(composition).resultSchema()
        case ["schema", "api"]: ReferenceCommands(composition).apiDescription()
        case ["fhir", "keygen"]: try FHIRCommand(composition).keygen()
        case ["fhir", "list"]: try FHIRCommand(composition).list()
        case ["fhir", "verify"]: try FHIRCommand(composition).verify()
        case ["fhir", "erase"]: try FHIRCommand(composition).erase()
        case ["fhir", "jwks"]: try FHIRCommand(composition).jwks()
        case ["sandbox"]:
            try composition.exec(
                "clarity-jobs-sandbox", composition.arguments.operands, for: nil)
        default:
            throw CommandFailure(
                .usage, "`\(path.joined(separator: " "))` wants a command",
                "help: clarity-jobs \(path.joined(separator: " ")) --help")
        }
    }

    /// Opens the standard descriptors that the caller closed.
    ///
    /// Otherwise one of our files could get the number of standard output or error, and receive
    /// text for people.
    private static func openStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", O_RDWR)
        }
    }

    private static func readArguments() -> [String] {
        var count: Int32 = 0
        let words = clinux_arguments(&count)
        return (1..<max(1, Int(count))).compactMap { words?[$0].map { String(cString: $0) } }
    }
}

/// The end of a command that did not do its work: lines for the user and an exit status.
struct CommandFailure: Error {
    var status: ExitStatus
    /// The lines. The program's name precedes the first, unless that names a place in a file.
    var lines: [String]

    init(_ status: ExitStatus, _ lines: String...) {
        self.status = status
        self.lines = lines
    }

    /// Splits a text into lines.
    init(_ status: ExitStatus, text: String) {
        self.status = status
        lines = text.split(separator: "\n").map(String.init)
    }

    init(_ error: RunStoreError) {
        self.init(ExitStatus(of: error), error.description)
    }
}

/// Runs `body` and turns an error of the store into a failure of the command.
func askingStore<Result>(
    _ body: () throws(RunStoreError) -> Result
) throws(CommandFailure) -> Result {
    do throws(RunStoreError) {
        return try body()
    } catch {
        throw CommandFailure(error)
    }
}

/// Runs asynchronous work, and everything it waits for, on this thread.
///
/// The program has no other thread for tasks, so that it sleeps while it has nothing to do
/// (`EventThread`). Most commands need no task. Threads for tasks would cost them as much as
/// everything else they do.
func runBlocking(
    _ work: @escaping @Sendable (EventThread) async throws(CommandFailure) -> ExitStatus
) throws(CommandFailure) -> ExitStatus {
    guard let events = EventThread() else {
        throw CommandFailure(.unreachable, "this process may open no more files")
    }
    // Lets the tasks that the work has cancelled end too.
    defer { events.doReady() }
    return try events.run { () throws(CommandFailure) in try await work(events) }
}

/// Turns SIGINT and SIGTERM into requests to drain.
///
/// The first signal asks for a drain. A second one of either kind ends the process at once, as
/// users expect of a second Ctrl-C; the next scheduler rescues its runs.
struct TerminationSignals: Sendable {
    /// A drain request for the first signal.
    let events: AsyncStream<Planner.Event>
    private let first = First()

    init(on events: EventThread) {
        self.events = events.termination { [first] number in
            first.note(ExitStatus(rawValue: 128 + number))
            return .drain
        }
    }

    /// The exit status for the first signal; `nil` if none came.
    var received: ExitStatus? { first.status }

    /// Tells a person who pressed Ctrl-C what is kept of these jobs. A service that is stopped says
    /// nothing: its manager does.
    func sayInterrupted(_ jobs: [Job], _ console: Console) {
        guard received == .interrupted else { return }
        let sends = jobs.contains { $0.kind == .bulkUpload }
        console.note(
            "clarity-jobs: interrupted; "
                + (sends
                    ? "what was not sent stays in the outbox"
                    : "the next `loop` or `run --due` tries again what had begun; "
                        + "`clarity-jobs cancel` gives it up"))
    }

    private final class First: Sendable {
        private let kept = Mutex<ExitStatus?>(nil)

        var status: ExitStatus? { kept.withLock { $0 } }

        func note(_ status: ExitStatus?) { kept.withLock { $0 = status } }
    }
}
