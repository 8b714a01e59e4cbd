import ClarityJobs
import ClarityScheduler
import ClaritySystem
import ClarityWorkers

/// Restores the state directory from a backup.
enum RestoreMode {
    static func run(_ arguments: [String]) -> ExitStatus {
        let names = ["state", "history-form", "backend", "dialect", "route", "from", "output"]
        guard let flags = Flags(arguments, values: names, switches: ["hold", "dry-run"]) else {
            return Program.usageError("expected `restore` with its flags")
        }
        do {
            let state = try flags.value("state")
            guard let forms = try StateForms(history: flags.value("history-form")) else {
                return Program.usageError("`--history-form` is `VERSION:MARK`")
            }
            let rule = RestoredDoubling(
                backend: flags["backend"], dialect: flags["dialect"], route: flags["route"],
                isHeld: flags.has("hold"))
            let isRehearsal = flags.has("dry-run")
            let report = try StateRestore(
                stateDirectory: state, environment: keyEnvironment(), forms: forms,
                actor: AuditActor(program: "restore"), clock: SystemClock(),
                doubling: rule.callAsFunction
            ).run(flags["from"], isRehearsal: isRehearsal)
            if flags.form == .table {
                report.lines(isRehearsal: isRehearsal).forEach { print($0) }
            } else {
                print(report.json(isRehearsal: isRehearsal))
            }
            if report.untaken != nil { return .deferred }
            return report.lost.isEmpty ? .done : .disk
        } catch let error as Flags.Missing {
            return Program.usageError("`--\(error.name)` is missing")
        } catch {
            return ExitStatus(ofBackup: error)
        }
    }
}
