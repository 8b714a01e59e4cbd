import ClaritySystem
import SQLite

/// Backs the health data up before its schema changes.
enum HealthBackup {
    /// Copies the file into the state directory's backups; called while nobody else writes.
    ///
    /// - Throws: `BackupError` if the backup cannot be made; then the schema stays as it is.
    static func makeBeforeMigration(of path: String, keyID: String) throws {
        let directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        let source = try Connection(path: path, access: .readOnly)
        _ = try BackupFolder(ofState: directory).make(
            .beforeMigration, at: SystemClock().now, key: keyID,
            sizeBytes: try source.sizeBytes(), keep: BackupFolder.keptBeforeMigration
        ) { folder in
            let copy = "\(folder)/health.db"
            try DurableFile.make(copy)
            return [("health.db", try source.writeCopy(to: copy, form: nil))]
        }
    }
}
