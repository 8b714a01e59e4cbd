import ClaritySystem
import SQLite

/// Backs up the history before its schema changes.
enum HistoryBackup {
    /// Copies the history into the state directory's backups; the caller makes sure that nobody
    /// else writes.
    ///
    /// - Throws: `BackupError` if the copy fails; the schema then stays as it is.
    static func makeBeforeMigration(of path: String, in directory: StateDirectory) throws {
        let source = try Connection(path: path, access: .readOnly)
        _ = try BackupFolder(ofState: directory.path).make(
            .beforeMigration, at: SystemClock().now, key: nil, sizeBytes: try source.sizeBytes(),
            keep: BackupFolder.keptBeforeMigration
        ) { folder in
            let copy = "\(folder)/history.db"
            try DurableFile.make(copy)
            return [("history.db", try source.writeCopy(to: copy, form: nil))]
        }
    }
}
