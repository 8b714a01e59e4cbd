import Platform
import Database
import ClarityScheduler

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

/// What a restore kept of the present health data, and which samples it marked.
public struct HealthSettling: Hashable, Sendable {
    /// Whether the audit log continues the present one; otherwise it ends where the backup's log
    /// ends.
    public var keepsLog = false
    /// Whether the session is the present one; otherwise it is the backup's, and may be used up.
    public var keepsSession = false
    /// The number of samples that may have been sent since the backup, if the backend could store
    /// both copies.
    public var inDoubt: Int64 = 0
    /// How many of these samples are on hold.
    public var onHold: Int64 = 0
}

/// Prepares a copy of a backup's health data for use, before it is put in place.
///
/// A backup does not know what happened after it. If the present file is readable and belongs to
/// the same user, the audit log, the session and the request counts are taken from it. A log never
/// goes back; only the newer tokens of a session work; and the backend counts the logins of the
/// last minutes and the requests of the last hour. If the backend would store a repeated sample
/// twice, samples that may have been sent since the backup count as in doubt, as after a kill.
struct HealthRestore {
    /// The copy to prepare.
    let path: String
    /// A copy of the present file; `nil` if that is damaged or missing.
    let present: String?
    let key: MasterKey
    let backup: Backup
    let doubling: (HealthStore) throws -> StateRestore.Doubling
    let actor: AuditActor
    let clock: any WallClock

    /// Prepares the copy.
    ///
    /// - Throws: `RestoreError.otherUser` if the present file belongs to another user.
    func settle() throws -> HealthSettling {
        let store = try HealthStore(
            in: HealthFilePlace(path, lock: nil), key: key, actor: actor, clock: clock)
        let former = try present.flatMap { try usable($0, store) }
        let doubling = try doubling(store)
        return try store.access { connection in
            try connection.execute("PRAGMA foreign_keys = ON")
            if former != nil, let present {
                try connection.run("ATTACH DATABASE ? AS present", .text(present))
            }
            let settling = try connection.transaction {
                try settle(store, connection, former, doubling)
            }
            if former != nil { try connection.execute("DETACH DATABASE present") }
            return settling
        }
    }

    /// What is known of the present file.
    private struct Former {
        let log: AuditHead?
    }

    /// Migrates the copy of the present file and returns what of it can be trusted.
    ///
    /// - Returns: `nil` if another key encrypts it.
    private func usable(_ present: String, _ store: HealthStore) throws -> Former? {
        let connection = try FileConnection(path: present, access: .readWrite)
        let cipher: Cipher
        do {
            try HealthFilePlace.prepare(connection) { _ in }
            cipher = try KeyCheck.cipher(key, connection)
        } catch is EncryptionError {
            // Another key encrypts it, so none of it can be read.
            return nil
        }
        let log = AuditLog(connection: connection, cipher: cipher)
        let (user, own) = (try log.user(), try store.sessions.owner())
        if let user, let own, user != own { throw RestoreError.otherUser(backup: backup.name) }
        return Former(log: try head(log, store))
    }

    /// Returns the head of the present log, if that log is intact and continues the backup's.
    private func head(_ log: AuditLog, _ store: HealthStore) throws -> AuditHead? {
        guard try AuditProof(log).broken == nil,
            let found = try AuditHead.read(log.connection, log.cipher), found.isAuthentic
        else { return nil }
        let own = try store.access { try AuditHead.current($0, store.cipher) }
        guard own.lastNumber <= found.head.lastNumber else { return nil }
        if own.lastNumber <= found.head.anchorNumber { return found.head }
        let same = try log.links(after: own.lastNumber - 1, limit: 1).first
        return own.lastNumber == 0 || same?.hash == own.lastHash ? found.head : nil
    }

    /// The tables for which the present file is newer than any backup.
    private static let carried = [
        "session", "session_record", "login_tries", "requests", "closures", "metered_bytes",
    ]

    private func settle(
        _ store: HealthStore, _ connection: Connection, _ former: Former?,
        _ doubling: StateRestore.Doubling
    ) throws -> HealthSettling {
        var settling = HealthSettling()
        if var head = former?.log {
            // The counts are those of the restored rows.
            head.counts = try AuditHead.current(connection, store.cipher).counts
            try connection.execute(
                "DELETE FROM audit; INSERT INTO audit SELECT * FROM present.audit")
            try head.write(connection, store.cipher)
            settling.keepsLog = true
        }
        if former != nil {
            for table in HealthRestore.carried {
                try connection.execute(
                    "DELETE FROM \(table); INSERT INTO \(table) SELECT * FROM present.\(table)")
            }
            settling.keepsSession = true
        }
        if doubling.isPossible {
            try markInDoubt(connection, isHeld: doubling.isHeld, knows: former != nil, &settling)
        }
        try connection.run(
            """
            INSERT INTO restorations (made_at_ms, until_s, is_doubtful, is_held)
            VALUES (?, ?, ?, ?)
            """, .instant(backup.manifest.madeAt), .integer(clock.now.secondsSince1970),
            .integer(doubling.isPossible ? 1 : 0), .integer(doubling.isHeld ? 1 : 0))
        // The note of the log's end belongs to the present file; opening the store rewrites it.
        try KeyCheck.write(KeyCheck.renotedText, connection, store.cipher)
        try store.audit.record(
            .restored, ["samples in doubt": settling.inDoubt],
            detail: "the state of \(backup.manifest.madeAt)"
                + (settling.keepsLog ? "" : "; later entries were lost"), connection)
        return settling
    }

    /// Counts a possible send for each sample that is unsent, unanswered or unconfirmed in the
    /// backup.
    ///
    /// It leaves out samples that have the same state in the present file. A sample that waits for
    /// a person in the backup may have been released and sent since, and may be released and sent
    /// again.
    private func markInDoubt(
        _ connection: Connection, isHeld: Bool, knows: Bool, _ settling: inout HealthSettling
    ) throws {
        let isSame = """
            EXISTS (SELECT 1 FROM present.samples AS now WHERE now.kind = samples.kind
                AND now.start_s = samples.start_s AND now.end_s = samples.end_s
                AND now.tag = samples.tag AND now.state = samples.state
                AND now.doubts = samples.doubts)
            """
        let isSameBatch = """
            EXISTS (SELECT 1 FROM present.batches AS now WHERE now.id = batches.id
                AND now.state = 'sending' AND now.sends = batches.sends)
            """
        let underWay = try connection.integer(
            """
            SELECT count(*) FROM outbox JOIN batches ON batch_id = batches.id
            WHERE batches.state = 'sending' AND outbox.state = 'batched' \(knows ? "AND NOT \(isSameBatch)" : "")
            """)
        settling.inDoubt = underWay ?? 0
        // A batch in flight has a send count of its own.
        try connection.run(
            """
            UPDATE batches SET sends = sends + 1 WHERE state = 'sending'
                \(knows ? "AND NOT \(isSameBatch)" : "")
            """)
        let known = knows ? "AND NOT \(isSame)" : ""
        let waiting = Outbox.retriable.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        // Waiting samples first: the samples that the next statement sets aside must not be among
        // them.
        settling.inDoubt += try connection.change(
            """
            UPDATE outbox SET doubts = doubts + 1
            WHERE id IN (SELECT id FROM samples WHERE state IN (\(waiting))
                AND \(Outbox.isGivenUp(nil)) \(known))
            """)
        let queued = try connection.change(
            """
            UPDATE outbox
            SET doubts = doubts + 1\(isHeld ? ", \(Outbox.setAsideInDoubt)" : "")
            WHERE id IN (
                SELECT id FROM samples WHERE own_state = 'queued' AND batch_id IS NULL \(known))
            """)
        settling.inDoubt += queued
        if isHeld { settling.onHold = queued }
    }
}
