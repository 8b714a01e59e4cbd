import CLinux
import Platform
@preconcurrency import Glibc

/// Does what the scheduler must not do itself: an attempt or its dry run, a login or logout, an
/// import, the state of the sources, or a check whether a URL answers.
@main enum Program {
    static let usage = """
        usage: clarity-jobs-worker attempt
               clarity-jobs-worker dry-run [--output FORM]
               clarity-jobs-worker auth login --email E --password stdin|ask
               clarity-jobs-worker auth logout --data keep|remove|ask [--output FORM]
               clarity-jobs-worker auth register --email E --password stdin|ask [--accept-terms]
                   [--first-name N] [--last-name N] [--name N]
               clarity-jobs-worker auth verify --email E [--code C]
               clarity-jobs-worker auth resend-code --email E
               clarity-jobs-worker auth reset-password --email E --password stdin|ask [--code C]
               clarity-jobs-worker erase [--samples IDS] [--yes] [--output FORM]
               clarity-jobs-worker backend [--output FORM]
               clarity-jobs-worker import [--report] [--change-time-zone] [--quiet] [--output FORM]
               clarity-jobs-worker sources [--output FORM]
               clarity-jobs-worker notify-test [--target TARGET] [--output FORM]
               clarity-jobs-worker probe URL
               clarity-jobs-worker version
        where FORM is table, json or ndjson; all but the last two read an order on descriptor 3
        """

    /// Not asynchronous: Dispatch would keep such a `main` alive with a thread that accepts signals
    /// before they have a handler.
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        // Whatever this process does, it holds keys, tokens or a password.
        umask(0o077)
        // TLS libraries write the keys of each connection into the file that it names.
        unsetenv("SSLKEYLOGFILE")
        // libdispatch tells the journal of each thread whose priority it may not set, as in a
        // service with `Nice=` or a filter of system calls. The thread works all the same.
        setenv("LIBDISPATCH_LOG", "NO", 1)
        if clinux_keep_memory_private() != 0 {
            complain("cannot close this process's memory to others")
        }
        if arguments == ["attempt"] { AttemptMode.prepare() }
        if arguments.first == "import" { StopSignal.prepare() }
        Task.detached { exit(await run(arguments).rawValue) }
        while true { pause() }
    }

    private static func run(_ arguments: [String]) async -> ExitStatus {
        switch arguments.first {
        case "attempt" where arguments.count == 1: await AttemptMode.run()
        case "dry-run": await DryRunMode.run(Array(arguments.dropFirst()))
        case "auth": await AuthMode.run(Array(arguments.dropFirst()))
        case "erase": await EraseMode.run(Array(arguments.dropFirst()))
        case "backend": await BackendMode.run(Array(arguments.dropFirst()))
        case "import": ImportMode.run(Array(arguments.dropFirst()))
        case "sources": SourcesMode.run(Array(arguments.dropFirst()))
        case "notify-test": await NotifyTestMode.run(Array(arguments.dropFirst()))
        case "version": version()
        case "probe" where arguments.count == 2: ProbeMode.run(arguments[1])
        default:
            usageError("expected one of these modes")
        }
    }

    /// Prints the libraries of this program, a line each.
    private static func version() -> ExitStatus {
        for library in LibraryVersion.loaded() { print(library.name, library.version) }
        return .done
    }

    static func usageError(_ message: String) -> ExitStatus {
        complain(message)
        printError(usage)
        return .usage
    }
}
