import ClarityHost
import HealthStore
import Reports
import ClarityScheduler
import Platform
@preconcurrency import Glibc
import SwiftOverlayShims
import BackendContract
import HealthModel
import Database

/// `backup` and `backup list`.
struct BackupCommand: ComposedCommand {
    let composition: Composition

    func make() throws(CommandFailure) -> ExitStatus {
        let folder = try folder()
        guard composition.arguments.has("all") else { return try make(in: folder) }
        return try EachAccount(composition).run(
            first: { common throws(CommandFailure) in
                try BackupCommand(common).make(in: folder)
            },
            { own, account throws(CommandFailure) in
                let path = own.backedUpPath(try own.jobFile())
                // An account without data is no failure of the others.
                guard access("\(path)/health.db", F_OK) == 0 else { return .done }
                let ownFolder = folder.map { BackupFolder(at: "\($0.path)/\(account)") }
                return try BackupCommand(own).make(in: ownFolder)
            })
    }

    private func make(in folder: BackupFolder?) throws(CommandFailure) -> ExitStatus {
        var keep = BackupFolder.keptAsked
        if let text = composition.arguments["keep"] {
            guard let number = Int(text), (1...1000).contains(number) else {
                throw CommandFailure(.usage, "--keep is a number from 1 to 1000, got `\(text)`")
            }
            keep = number
        }
        let file = try composition.jobFile()
        try composition.requireFiles(
            file,
            help: "as its superuser, back it up with `pg_dump -n clarity_history -n clarity_health "
                + "\(shellQuoted(file.server?.database ?? "")) > clarity.sql`, and keep the master keys "
                + "elsewhere")
        // Refuses to back up a history that this program cannot read.
        _ = try composition.history(file)
        let state = try composition.ownBackups(file)
        let backup = StateBackup(
            stateDirectory: state, jobFile: try jobFileText(),
            environment: try composition.keyEnvironment(file),
            forms: try composition.stateForms(), actor: AuditActor(program: "backup"),
            clock: SystemClock())
        let receipt = try usingBackups { try backup.make(in: folder, keep: keep) }
        guard let receipt else {
            throw CommandFailure(
                .configuration, "nothing is kept in `\(state)` yet, so there is nothing to back up")
        }
        composition.console.results(receipt.lines, receipt)
        return .done
    }

    /// Returns the text of the job file; `nil` if it is a pipe, which was read already.
    private func jobFileText() throws(CommandFailure) -> String? {
        let path = composition.foundJobFilePath
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        do throws(JobFileFaults) {
            let bytes = try composition.jobFileReader.bytes(of: path)
            return String(decoding: bytes, as: UTF8.self)
        } catch {
            throw composition.failure(error)
        }
    }

    func list() throws(CommandFailure) -> ExitStatus {
        let file = try composition.jobFile()
        let state = try composition.ownBackups(file)
        let folder = try folder() ?? BackupFolder(ofState: state)
        let list = BackupList(try usingBackups { try folder.entries() })
        composition.console.results(list.objects, lines: list.lines)
        return .done
    }

    private func folder() throws(CommandFailure) -> BackupFolder? {
        let operands = composition.arguments.operands
        guard operands.count < 2 else {
            throw CommandFailure(.usage, "`backup` wants one folder at most, got \(operands.count)")
        }
        return operands.first.map { BackupFolder(at: composition.absolute($0)) }
    }
}

extension Composition {
    /// Returns the schemas of the files of the state that this program writes.
    func stateForms() throws(CommandFailure) -> StateForms {
        let form = try askingStore { () throws(RunStoreError) in try RunHistory.newestForm() }
        return try usingHealthData { () throws(HealthStoreError) in try StateForms(history: form) }
    }
}

/// `restore [BACKUP]`: restores damaged files, or the whole state from a named backup.
struct RestoreCommand: ComposedCommand {
    let composition: Composition

    func run() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        guard arguments.operands.count < 2 else {
            throw CommandFailure(
                .usage, "`restore` wants one backup at most, got \(arguments.operands.count)")
        }
        let file = try jobFile(arguments.operands.first)
        try composition.requireFiles(
            file,
            help:
                "stop the loops, `DROP SCHEMA clarity_health, clarity_history CASCADE` in it, give it "
                + "the dump as its superuser with `psql -v ON_ERROR_STOP=1 "
                + "\(shellQuoted(file.server?.database ?? "")) < clarity.sql`, and accept the older state "
                + "with `clarity-jobs audit --repair`")
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
            // Nothing was sent anywhere if there is no backend and nobody ever logged in to one.
            let mayHaveSent = try backend != nil || store.sessions.record() != nil
            return StateRestore.Doubling(
                isPossible: mayHaveSent
                    && Dialect.mayStoreTwice(
                        dialects: [backend?.dialect, remembered],
                        route: uploads.first?.route?.rawValue),
                isHeld: uploads.contains { $0.onAmbiguous == .hold })
        }
        let isDryRun = arguments.has("dry-run")
        let report = try usingBackups { try restore.run(backup, isDryRun: isDryRun) }
        composition.console.results(
            report.lines(isDryRun: isDryRun, hasBackend: backend != nil),
            RestoreResult(report, isDryRun: isDryRun))
        if report.untaken != nil { return .deferred }
        return report.lost.isEmpty ? .done : .disk
    }

    /// Returns the job file. Where there is none, as on a new machine, the help is the command that
    /// takes the copy of the backup.
    private func jobFile(_ backup: String?) throws(CommandFailure) -> JobFile {
        do throws(CommandFailure) {
            return try composition.jobFile()
        } catch {
            let copy = backup.map { composition.absolute("\($0)/\(Backup.jobFileName)") }
            guard error.status == .missingInput, let copy, access(copy, R_OK) == 0 else {
                throw error
            }
            var failure = error
            let target = composition.setUpJobFilePath
            failure.lines.append(
                "help: take that of the backup: install -D -m 600 \(shellQuoted(copy)) "
                    + shellQuoted(target))
            throw failure
        }
    }
}
