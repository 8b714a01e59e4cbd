import CLinux
@preconcurrency import Glibc

/// Does what the scheduler must not do itself: an attempt or its dry run, a login, what concerns
/// the master key, the audit log and the sources, or a check whether a URL answers.
@main enum Program {
    static let usage = """
        usage: clarity-jobs-worker attempt
               clarity-jobs-worker dry-run < ORDER
               clarity-jobs-worker auth login --email E --password stdin|ask BACKEND --state DIR
               clarity-jobs-worker auth logout --data keep|remove|ask BACKEND --state DIR [--output FORM]
               clarity-jobs-worker auth status --state DIR [--output table|json|ndjson]
               clarity-jobs-worker key rotate --state DIR [--new-key-file FILE | --new-key-variable NAME]
                   [--output table|json|ndjson] [--verbose]
               clarity-jobs-worker key status --state DIR [--output table|json|ndjson]
               clarity-jobs-worker backup make --state DIR --history-form V:MARK [--in DIR] [--keep N]
                   [--output table|json|ndjson]
               clarity-jobs-worker backup list --state DIR [--in DIR] [--output table|json|ndjson]
               clarity-jobs-worker restore --state DIR --history-form V:MARK --backend URL [--dialect D]
                   [--route R] [--hold] [--from BACKUP] [--dry-run] [--output table|json|ndjson]
               clarity-jobs-worker audit log --state DIR [--since INSTANT] [--output table|json|ndjson]
               clarity-jobs-worker audit verify --state DIR [--output table|json|ndjson]
               clarity-jobs-worker audit outbox --state DIR [--found N] [--offence] [--output table|json|ndjson]
               clarity-jobs-worker outbox sums|list|show|retry|discard --state DIR [FILTER...] [--output FORM]
               clarity-jobs-worker import [--report] [--change-time-zone] [--quiet]
                   [--output table|json|ndjson] < ORDER
               clarity-jobs-worker sources [--output table|json|ndjson] < ORDER
               clarity-jobs-worker status [--quiet] [--output table|json|ndjson] < ORDER
               clarity-jobs-worker read metrics|insights|profile|summary|archive --state DIR
                   [--name NAME] [--since SINCE] [--now INSTANT] [--time-zone ZONE]
                   [--output table|json|ndjson|csv]
               clarity-jobs-worker probe URL
        where BACKEND is --backend URL [--dialect D] [--ca-bundle FILE] [--pins LINES] [--retry-wait MS]
        """

    /// Not asynchronous: Dispatch would keep such a `main` alive with a thread that accepts signals
    /// before they have a handler.
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        // Whatever this process does, it holds keys, tokens or a password.
        umask(0o077)
        // TLS libraries write the keys of each connection into the file that it names.
        unsetenv("SSLKEYLOGFILE")
        if clinux_keep_memory_private() != 0 {
            complain("cannot close this process's memory to others")
        }
        if arguments == ["attempt"] { AttemptMode.prepare() }
        if arguments.first == "import" { ImportMode.prepare() }
        Task.detached { exit(await run(arguments).rawValue) }
        while true { pause() }
    }

    private static func run(_ arguments: [String]) async -> ExitStatus {
        switch arguments.first {
        case "attempt" where arguments.count == 1: await AttemptMode.run()
        case "dry-run" where arguments.count == 1: await DryRunMode.run()
        case "auth": await AuthMode.run(Array(arguments.dropFirst()))
        case "key": KeyMode.run(Array(arguments.dropFirst()))
        case "backup": BackupMode.run(Array(arguments.dropFirst()))
        case "restore": RestoreMode.run(Array(arguments.dropFirst()))
        case "audit": AuditMode.run(Array(arguments.dropFirst()))
        case "outbox": OutboxMode.run(Array(arguments.dropFirst()))
        case "import": ImportMode.run(Array(arguments.dropFirst()))
        case "status": StatusMode.run(Array(arguments.dropFirst()))
        case "sources": SourcesMode.run(Array(arguments.dropFirst()))
        case "read": ReadingMode.run(Array(arguments.dropFirst()))
        case "probe" where arguments.count == 2: ProbeMode.run(arguments[1])
        default:
            usageError("expected one of these modes")
        }
    }

    static func usageError(_ message: String) -> ExitStatus {
        complain(message)
        printError(usage)
        return .usage
    }
}
