import ClarityJobs
import ClarityScheduler
import ClaritySystem
import ClarityWorkers

/// Changes the master key, and shows where it is.
enum KeyMode {
    static func run(_ arguments: [String]) -> ExitStatus {
        let flags = Flags(
            Array(arguments.dropFirst()),
            values: ["state", "output", "new-key-file", "new-key-variable"], switches: ["verbose"])
        guard let action = arguments.first, let flags else {
            return Program.usageError("expected `key rotate` or `key status`")
        }
        do {
            switch action {
            case "rotate": return try rotate(flags)
            case "status": return try status(flags)
            default: return Program.usageError("unknown action `key \(action)`")
            }
        } catch let error as Flags.Missing {
            return Program.usageError("`--\(error.name)` is missing")
        } catch {
            return ExitStatus(of: error)
        }
    }

    private static func rotate(_ flags: Flags) throws -> ExitStatus {
        let newKey: NewKey
        switch (flags["new-key-file"], flags["new-key-variable"]) {
        case (nil, nil): newKey = .made
        case (let path?, nil): newKey = .file(path)
        case (nil, let name?): newKey = .variable(name)
        default:
            return Program.usageError("one of `--new-key-file` and `--new-key-variable` is enough")
        }
        var rotation = KeyRotation(
            stateDirectory: try flags.value("state"),
            environment: keyEnvironment(flags["new-key-variable"] ?? "CLARITY_JOBS_KEY"),
            to: newKey, actor: AuditActor(program: "key rotate"), clock: SystemClock())
        if flags.has("verbose") { rotation.progress = { printError("\($0) rows done") } }
        let report = try rotation.run()
        if flags.form == .table {
            report.lines.forEach { print($0) }
        } else {
            print(report.json)
        }
        return .done
    }

    private static func status(_ flags: Flags) throws -> ExitStatus {
        let state = try flags.value("state")
        guard
            let status = try KeyStatus.read(
                stateDirectory: state, environment: keyEnvironment())
        else {
            complain("no health data is kept in `\(state)` yet, so there is no master key")
            return .configuration
        }
        if flags.form == .table {
            status.lines.forEach { print($0) }
        } else {
            print(status.json)
        }
        return .done
    }
}
