import BackendContract
import ClarityHost
import HealthModel
import HealthStore
import Reports
import ClarityScheduler
import Platform

/// `restore [BACKUP]`: restores damaged files, or the whole state from a named backup.
struct RestoreCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    func run() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        guard arguments.operands.count < 2 else {
            throw CommandFailure(
                .usage, "`restore` wants one backup at most, got \(arguments.operands.count)")
        }
        let file = try composition.jobFile()
        try composition.requireFiles(
            file,
            help: "stop the loops, `DROP SCHEMA clarity_health, clarity_history CASCADE`, and give "
                + "psql(1) what pg_dump(1) made")
        let state = try composition.ownBackups(file)
        // A name without a slash is a backup of the state directory.
        let backup = arguments.operands.first.map {
            $0.contains("/") ? composition.absolute($0) : "\(state)/backups/\($0)"
        }
        let uploads = try file.uploadOptions()
        let backend = try readingSections { () throws(Failure) in try file.sections.backend }
        let restore = StateRestore(
            stateDirectory: state, environment: try composition.keyEnvironment(file),
            forms: try composition.stateForms(), actor: AuditActor(program: "restore"),
            clock: SystemClock()
        ) { store in
            let remembered = try backend.flatMap {
                try store.sessions.dialect(of: $0.url.withoutSlashAtEnd)
            }
            return StateRestore.Doubling(
                isPossible: Dialect.mayStoreTwice(
                    dialects: [backend?.dialect, remembered], route: uploads.first?.route?.rawValue),
                isHeld: uploads.contains { $0.onAmbiguous == .hold })
        }
        let isRehearsal = arguments.has("dry-run")
        let report = try usingBackups { try restore.run(backup, isRehearsal: isRehearsal) }
        composition.console.results(
            report.lines(isRehearsal: isRehearsal),
            RestoreResult(report, isRehearsal: isRehearsal))
        if report.untaken != nil { return .deferred }
        return report.lost.isEmpty ? .done : .disk
    }
}
