import ClarityScheduler
import Platform
import Database

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
