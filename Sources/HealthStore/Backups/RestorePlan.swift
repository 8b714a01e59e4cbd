import Platform
import Database

/// Decides which file to restore from which backup.
struct RestorePlan {
    /// The files that a backup can hold.
    private static let files = ["history.db", encryptedName]
    /// The file that is encrypted with the master key.
    private static let encryptedName = "health.db"

    let directory: String
    /// The newest schema of each file that this program knows.
    let forms: StateForms
    /// Returns the identifier of the key with which a backup would be restored; `nil` if there is
    /// none. Called only to restore health data.
    let keyID: (Backup) throws -> String?
    /// Where the key must be, in words.
    let keyPlace: () throws -> String

    /// Plans to restore everything from a chosen backup, or each damaged or missing file from the
    /// newest intact backup that has it.
    ///
    /// - Returns: a report with the files, and with what else a person must know.
    func find(_ chosen: Backup?) throws -> StateRestore.Report {
        guard let chosen else { return try findDamaged() }
        try chosen.verify()
        if chosen.manifest.has(RestorePlan.encryptedName) { try requireKey(of: chosen) }
        return StateRestore.Report(
            // An account's own key follows the health data.
            items: try chosen.manifest.files.filter { $0.name != MasterKeySource.ownName }.map {
                file in
                guard RestorePlan.files.contains(file.name) else {
                    throw BackupError.damaged(
                        path: chosen.path, problem: "this program knows no `\(file.name)`")
                }
                return .init(
                    file: file, backup: chosen, fault: try fault(of: file.name, mayBeNewer: true))
            })
    }

    private func findDamaged() throws -> StateRestore.Report {
        let folder = BackupFolder(ofState: directory)
        let backups = try folder.entries().compactMap(\.backup)
        var report = StateRestore.Report()
        for name in RestorePlan.files {
            guard let fault = try fault(of: name, mayBeNewer: false) else { continue }
            // A missing file that is in no backup never existed.
            let candidates = backups.filter { $0.manifest.has(name) }
            guard fault != RestorePlan.missing || !candidates.isEmpty else { continue }
            guard let backup = newestSound(candidates, &report.passedOver),
                let file = backup.manifest.files.first(where: { $0.name == name })
            else {
                report.lost.append(.init(name: name, fault: fault))
                continue
            }
            if name == RestorePlan.encryptedName { try requireKey(of: backup) }
            report.items.append(.init(file: file, backup: backup, fault: fault))
        }
        guard !report.items.isEmpty else {
            throw report.lost.isEmpty
                ? RestoreError.nothingDamaged : RestoreError.noBackup(folder: folder.path)
        }
        return report
    }

    /// Checks that a copy is a database of ours that this program can read.
    func require(_ item: StateRestore.Item, at path: String) throws {
        guard let known = forms[item.file.name] else { return }
        let (owner, version) = try HealthStore.describing(path) {
            try facts(path, item.file.name, .immutable)
        }
        guard owner == known.applicationID else {
            throw BackupError.damaged(
                path: item.backup.path,
                problem: "`\(item.file.name)` is no database of this program")
        }
        guard version <= known.version else {
            throw RestoreError.newer(
                backup: item.backup.name, file: item.file.name, found: version,
                known: known.version)
        }
        guard version >= known.oldest else {
            throw RestoreError.older(backup: item.backup.name, file: item.file.name)
        }
    }

    private static let missing = "it is missing"

    private func newestSound(_ backups: [Backup], _ passedOver: inout [String]) -> Backup? {
        for backup in backups {
            do throws(BackupError) {
                try backup.verify()
                return backup
            } catch {
                // It may already be listed for another file.
                if !passedOver.contains(error.description) { passedOver.append(error.description) }
            }
        }
        return nil
    }

    private func requireKey(of backup: Backup) throws {
        guard let wanted = backup.manifest.key else { return }
        guard let keyID = try keyID(backup) else {
            throw RestoreError.lostKey(
                backup: backup.name, wanted: wanted, place: try keyPlace())
        }
        guard wanted == keyID else {
            throw RestoreError.otherKey(
                backup: backup.name, wanted: wanted, present: keyID, place: try keyPlace())
        }
    }

    /// Returns the fault of a present file in words, or `nil` if it has none.
    ///
    /// No other process uses the file, and its write-ahead log stays as it is.
    ///
    /// - Parameter mayBeNewer: whether a newer version's file may be set aside; nothing more is
    ///   then read from it.
    /// - Throws: `RestoreError.newerFile` if the file is a newer version's and that is not allowed.
    private func fault(of name: String, mayBeNewer: Bool) throws -> String? {
        let path = "\(directory)/\(name)"
        guard try StateFile.isThere(path) else { return RestorePlan.missing }
        // Without a log, opening it as immutable makes SQLite create no files beside it.
        let hasLog = try StateFile.isThere("\(path)-wal")
        let version: Int
        do throws(DatabaseError) {
            let found = try facts(path, name, hasLog ? .readOnly : .immutable)
            guard found.owner == forms[name]?.applicationID else {
                return "it is no database of this program"
            }
            version = found.version
        } catch {
            guard error.isDamage || error.isDisk else { throw HealthStore.described(error, path) }
            return error.description
        }
        let newest = forms[name]?.version ?? 0
        guard version > newest else { return nil }
        guard mayBeNewer else {
            throw RestoreError.newerFile(path: path, found: version, known: newest)
        }
        return "it has version \(version), this program knows \(newest)"
    }

    private func facts(
        _ path: String, _ name: String, _ access: FileConnection.Access
    ) throws(DatabaseError) -> (owner: Int64, version: Int) {
        let file = try FileConnection(path: path, access: access)
        try file.requireSoundness(forms[name])
        return (
            try file.integer("PRAGMA application_id") ?? 0,
            Int(try file.integer("PRAGMA user_version") ?? 0)
        )
    }
}
