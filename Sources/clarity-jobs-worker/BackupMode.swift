import ClarityJobs
import ClarityScheduler
import ClaritySystem
import ClarityWorkers

/// Makes and lists backups of the state directory.
enum BackupMode {
    static func run(_ arguments: [String]) -> ExitStatus {
        let flags = Flags(
            Array(arguments.dropFirst()), values: ["state", "history-form", "in", "keep", "output"])
        guard let action = arguments.first, let flags else {
            return Program.usageError("expected `backup make` or `backup list`")
        }
        do {
            switch action {
            case "make": return try make(flags)
            case "list": return try list(flags)
            default: return Program.usageError("unknown action `backup \(action)`")
            }
        } catch let error as Flags.Missing {
            return Program.usageError("`--\(error.name)` is missing")
        } catch {
            return ExitStatus(ofBackup: error)
        }
    }

    private static func make(_ flags: Flags) throws -> ExitStatus {
        let state = try flags.value("state")
        guard let forms = try StateForms(history: flags.value("history-form")) else {
            return Program.usageError("`--history-form` is `VERSION:MARK`")
        }
        let receipt = try StateBackup(
            stateDirectory: state, environment: keyEnvironment(), forms: forms,
            actor: AuditActor(program: "backup"), clock: SystemClock()
        ).make(
            in: flags["in"].map { BackupFolder(at: $0) },
            keep: flags["keep"].flatMap { Int($0) } ?? BackupFolder.keptAsked)
        guard let receipt else {
            complain("nothing is kept in `\(state)` yet, so there is nothing to back up")
            return .configuration
        }
        if flags.form == .table {
            receipt.lines.forEach { print($0) }
        } else {
            print(receipt.json)
        }
        return .done
    }

    private static func list(_ flags: Flags) throws -> ExitStatus {
        let folder =
            try flags["in"].map { BackupFolder(at: $0) }
            ?? BackupFolder(ofState: flags.value("state"))
        let list = BackupList(try folder.entries())
        switch flags.form {
        case .table: list.lines.forEach { print($0) }
        case .ndjson: list.objects.forEach { print($0) }
        case .json: print("[\(list.objects.joined(separator: ",\n"))]")
        }
        return .done
    }
}
