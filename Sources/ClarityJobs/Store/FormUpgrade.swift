import ClarityScheduler
import SQLite

/// Brings a file of an earlier release into the form in which nothing in the clear follows from a value:
/// values are padded, and keyed tags replace the backend's ids of metrics and the state of sources.
///
/// It needs the key, so that it is no step of the schema; the schema notes that it is owed. It works in
/// portions of one transaction each and notes with each portion how far it is, so that it can be
/// killed at any instant and finished by the next process. Nobody else uses the health data meanwhile
/// (`StoreOpening`). In the end the file is written anew, so that no page keeps what was in the clear.
struct FormUpgrade {
    /// The instants at which a kill leaves something new behind; for tests.
    enum Step: Hashable, Sendable {
        case portion, rowsDone, rewritten
    }

    private let connection: Connection
    private let sealer: Sealer
    /// How many rows are sealed anew in one transaction.
    var portion = 5000
    /// Called after each step is on the disk.
    var after: (Step) throws -> Void = { _ in }

    init(_ connection: Connection, _ sealer: Sealer) {
        self.connection = connection
        self.sealer = sealer
    }

    /// How long another process is waited for: one of an earlier release that still uses the file, or
    /// one that upgrades it.
    static let patience = Duration.seconds(120)

    /// Whether a file is still to be brought into the form; found out without a trace in it or beside
    /// it unless it has a log.
    static func isOwed(by file: HealthFile) throws(HealthStoreError) -> Bool {
        guard file.exists else { return false }
        do {
            let connection = try Connection(path: file.path, access: .immutable)
            guard try isOwedAtAll(connection) else { return false }
            // What the file says may be out of date as long as there is a log.
            guard file.hasLog else { return true }
        } catch {
            // A checkpoint may be under way; without a log whoever opens the file says what is wrong.
            guard file.hasLog else { return false }
        }
        do {
            return try isOwedAtAll(Connection(path: file.path, access: .readWrite))
        } catch {
            throw HealthStore.described(error, file.path)
        }
    }

    private static func isOwedAtAll(_ connection: Connection) throws -> Bool {
        let version = try HealthSchema.migrations.version(of: connection)
        if version < HealthSchema.formVersion { return version > 0 }
        return try isOwed(connection)
    }

    /// A share of the health data; waits for a process that upgrades the file.
    ///
    /// - Returns: `nil` when there is no lock file yet.
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

    /// The health data alone; waits for the others.
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

    /// Whether the file is still to be brought into the form.
    static func isOwed(_ connection: Connection) throws -> Bool {
        try connection.first("SELECT 1 FROM form_upgrade") { $0.integer(0) } != nil
    }

    /// Does what is owed, and notes it in the audit log.
    ///
    /// - Returns: `false` when nothing was owed.
    @discardableResult
    func run(actor: AuditActor, at now: Instant) throws -> Bool {
        guard try FormUpgrade.isOwed(connection) else { return false }
        // What a row was before is written over and not only given up.
        try connection.execute("PRAGMA secure_delete = ON")
        while try sealPortion() { try after(.portion) }
        try after(.rowsDone)
        try connection.execute("VACUUM")
        try HealthStore.emptyLog(connection)
        try after(.rewritten)
        try connection.transaction {
            let rows = try connection.first("SELECT rows FROM form_upgrade") { $0.integer(0) }
            // Another process may have finished it.
            guard let rows else { return }
            try connection.run("DELETE FROM form_upgrade")
            let log = AuditLog(connection: connection, sealer: sealer)
            try log.append(
                AuditEntry(
                    .resealed, user: try log.user(), actor: actor, counts: ["rows": rows],
                    detail: "so that ids and lengths follow from no value; backups from before do"),
                at: now)
        }
        try connection.execute("PRAGMA secure_delete = OFF")
        return true
    }

    /// Seals a portion anew, and notes how far it came in the same transaction.
    ///
    /// - Returns: `false` when nothing is left.
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

    /// Seals where pulls have stopped.
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
    /// The row of a part that is pulled.
    static func pull(_ name: String) -> RowIdentity {
        var row = RowIdentity("pulls", label: name)
        row.append(name)
        return row
    }
}
