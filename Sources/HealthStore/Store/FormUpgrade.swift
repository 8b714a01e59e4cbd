import ClarityScheduler
import Database

/// Upgrades a file of an earlier release, so that nothing stored in plain text depends on a value.
/// Values are padded, and keyed tags replace the backend's ids of metrics and the state of sources.
///
/// The upgrade needs the key, so it cannot be a step of the schema; the schema only records that it
/// is due. It works in portions of one transaction each and records its progress with each portion.
/// It can therefore be killed at any instant and finished by the next process. Nobody else uses the
/// health data in the meantime (`StoreOpening`). At the end the whole file is rewritten, so that no
/// page keeps the former plain text.
struct FormUpgrade {
    /// The instants at which a kill leaves a new state behind; for tests.
    enum Step: Hashable, Sendable {
        case portion, rowsDone, rewritten
    }

    let connection: Connection
    let sealer: Sealer
    /// The number of rows that one transaction encrypts again.
    var portion = 5000
    /// Called when a step is on the disk.
    var after: (Step) throws -> Void = { _ in }

    /// How long to wait for another process: one of an earlier release that still uses the file, or
    /// one that upgrades it.
    static let patience = Duration.seconds(120)

    /// Whether a file still needs the upgrade. Unless the file has a log, the check leaves no trace
    /// in it or beside it.
    static func isOwed(by file: HealthFile) throws(HealthStoreError) -> Bool {
        guard file.exists else { return false }
        do {
            let connection = try FileConnection(path: file.path, access: .immutable)
            guard try isOwedAtAll(connection) else { return false }
            // What the file says may be out of date while there is a log.
            guard file.hasLog else { return true }
        } catch {
            // A checkpoint may be in progress. Without a log, opening the file reports what is
            // wrong.
            guard file.hasLog else { return false }
        }
        do {
            return try isOwedAtAll(FileConnection(path: file.path, access: .readWrite))
        } catch {
            throw HealthStore.described(error, file.path)
        }
    }

    private static func isOwedAtAll(_ connection: FileConnection) throws -> Bool {
        let version = try HealthSchema.migrations.version(of: connection)
        if version < HealthSchema.formVersion { return version > 0 }
        return try isOwed(connection)
    }

    /// Takes a shared lock on the health data, and waits for a process that upgrades the file.
    ///
    /// - Returns: `nil` if there is no lock file yet.
    static func share(
        of file: HealthFile, _ patience: Duration
    ) throws(HealthStoreError) -> StoreLock? {
        do throws(HealthStoreError) {
            return try StoreLock.share(of: file, makesFile: false)
        } catch {
            guard case .rotating = error, try isOwed(by: file) else { throw error }
            return try StoreLock.share(of: file, makesFile: false, patience: patience)
        }
    }

    /// Takes an exclusive lock on the health data, and waits for the other processes.
    static func alone(
        with file: HealthFile, _ patience: Duration
    ) throws(HealthStoreError) -> StoreLock {
        do throws(HealthStoreError) {
            return try StoreLock.alone(of: file, patience: patience)
        } catch {
            guard case .rotation(.inUse, _) = error else { throw error }
            throw .upgrading(path: file.path)
        }
    }

    /// Whether the file still needs the upgrade.
    static func isOwed(_ connection: Connection) throws -> Bool {
        try connection.integer("SELECT 1 FROM form_upgrade") != nil
    }

    /// Runs the upgrade if it is due, and records it in the audit log.
    ///
    /// - Returns: `false` if nothing was due.
    @discardableResult
    func run(actor: AuditActor, at now: Instant) throws -> Bool {
        guard try FormUpgrade.isOwed(connection) else { return false }
        // The former content of a row is overwritten, not merely freed.
        try connection.overwrite(true)
        while try sealPortion() { try after(.portion) }
        try after(.rowsDone)
        try connection.rewrite()
        try after(.rewritten)
        try connection.transaction {
            let rows = try connection.integer("SELECT rows FROM form_upgrade")
            // Another process may have finished the upgrade.
            guard let rows else { return }
            try connection.run("DELETE FROM form_upgrade")
            let log = AuditLog(connection: connection, sealer: sealer)
            try log.append(
                AuditEntry(
                    .resealed, user: try log.user(), actor: actor, counts: ["rows": rows],
                    detail: "so that ids and lengths follow from no value; backups from before do"),
                at: now)
        }
        try connection.overwrite(false)
        return true
    }

    /// Encrypts a portion again, and records the progress in the same transaction.
    ///
    /// - Returns: `false` if nothing is left.
    private func sealPortion() throws -> Bool {
        try connection.transaction {
            guard
                let (name, row) = try connection.first(
                    "SELECT table_name, row FROM form_upgrade", map: { ($0.text(0), $0.integer(1)) }
                )
            else { return false }
            let tables = SealedTable.all
            let start = tables.firstIndex { $0.name == name } ?? 0
            for table in tables[start...] {
                let last = table.name == name ? row : 0
                let entries = try table.entries(after: last, limit: portion, connection)
                guard let end = entries.last?.number else { continue }
                for entry in entries { _ = try table.reseal(entry, .form(sealer), connection) }
                try connection.run(
                    "UPDATE form_upgrade SET table_name = ?, row = ?, rows = rows + ?",
                    .text(table.name), .integer(end), .integer(Int64(entries.count)))
                return true
            }
            try sealPlaces()
            return false
        }
    }

    /// Encrypts the places at which pulls have stopped.
    private func sealPlaces() throws {
        let places = try connection.all("SELECT name, place FROM pulls WHERE place IS NOT NULL") {
            ($0.text(0), $0.text(1))
        }
        for (name, place) in places {
            try connection.run(
                "UPDATE pulls SET place = NULL, sealed = ? WHERE name = ?",
                .blob(sealer.seal(Array(place.utf8), for: .pull(name))), .text(name))
        }
    }
}

extension RowIdentity {
    /// Returns the identity of the row of a part that is pulled.
    static func pull(_ name: String) -> RowIdentity {
        RowIdentity("pulls", label: name, text: name)
    }
}
