import ClarityScheduler
import ClaritySystem
import SQLite

/// What became of health data that was put back.
public struct HealthSettling: Hashable, Sendable {
    /// Whether the audit log goes on where the present one ends; else it ends where the backup's does.
    public var keepsLog = false
    /// Whether the session is the present one; else it is the backup's, and may be spent.
    public var keepsSession = false
    /// Samples that may have been sent since, where the backend could keep both.
    public var doubtful: Int64 = 0
    /// Those of them that wait for a person.
    public var held: Int64 = 0
}

/// Makes a copy of a backup's health data fit to go on with, before it is put in place.
///
/// What happened since the backup is unknown to it. As far as the file that is there can still be
/// read and is the same user's, the audit log, the session and the counts of requests are taken from
/// it: a log never goes back, a session's newer tokens are the ones that work, and the backend
/// counts the logins of the last minutes and the requests of the last hour. Where the backend would keep a sample that comes twice,
/// those that may have been sent since count as sends in doubt, as after a kill.
struct HealthRestore {
    /// The copy that is made fit.
    let path: String
    /// A copy of the file that is there; `nil` when it is damaged or missing.
    let present: String?
    let key: MasterKey
    let backup: Backup
    let doubling: (HealthStore) throws -> StateRestore.Doubling
    let actor: AuditActor
    let clock: any WallClock

    /// - Throws: `RestoreError.otherUser` when the file that is there is another user's.
    func settle() throws -> HealthSettling {
        let store = try HealthStore(path: path, key: key, actor: actor, clock: clock) {
            () throws(SQLiteError) in try Connection(path: path, access: .readWrite)
        }
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

    /// What is known of the file that is there.
    private struct Former {
        let log: AuditHead?
    }

    /// Brings the present file's copy up to date and looks whether it can be relied on.
    private func usable(_ present: String, _ store: HealthStore) throws -> Former? {
        let connection = try Connection(path: present, access: .readWrite)
        let sealer: Sealer
        do {
            try HealthStore.prepare(connection) { _ in }
            sealer = try Canary.sealer(key, connection)
        } catch is SealingError {
            // Another key's: nothing in it can be read.
            return nil
        }
        let log = AuditLog(connection: connection, sealer: sealer)
        let (user, own) = (try log.user(), try store.owner())
        if let user, let own, user != own { throw RestoreError.otherUser(backup: backup.name) }
        return Former(log: try head(log, store))
    }

    /// The head of the present log, when that is sound and goes on from the backup's.
    private func head(_ log: AuditLog, _ store: HealthStore) throws -> AuditHead? {
        guard try AuditProof(log).broken == nil,
            let found = try AuditHead.read(log.connection, log.sealer), found.isAuthentic
        else { return nil }
        let own = try store.access { try AuditHead.current($0, store.sealer) }
        guard own.lastNumber <= found.head.lastNumber else { return nil }
        if own.lastNumber <= found.head.anchorNumber { return found.head }
        let same = try log.links(after: own.lastNumber - 1, limit: 1).first
        return own.lastNumber == 0 || same?.hash == own.lastHash ? found.head : nil
    }

    /// What the present file knows better than any backup.
    private static let carried = [
        "session", "session_record", "login_tries", "requests", "closures", "metered_bytes",
    ]

    private func settle(
        _ store: HealthStore, _ connection: Connection, _ former: Former?,
        _ doubling: StateRestore.Doubling
    ) throws -> HealthSettling {
        var settling = HealthSettling()
        if let head = former?.log {
            try connection.execute(
                "DELETE FROM audit; INSERT INTO audit SELECT * FROM present.audit")
            try head.write(connection, store.sealer)
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
            try doubt(connection, isHeld: doubling.isHeld, knows: former != nil, &settling)
        }
        try connection.run(
            "INSERT INTO restorations (made_at_ms, until_s, is_doubtful) VALUES (?, ?, ?)",
            .integer(backup.manifest.madeAt.millisecondsSince1970),
            .integer(clock.now.secondsSince1970), .integer(doubling.isPossible ? 1 : 0))
        // The note of the log's end is the former file's; the next opening makes it anew.
        try Canary.write(Canary.renotedText, connection, store.sealer)
        try store.record(
            .restored, ["samples in doubt": settling.doubtful],
            detail: "the state of \(backup.manifest.madeAt)"
                + (settling.keepsLog ? "" : "; later entries were lost"), connection)
        return settling
    }

    /// Counts a send in doubt for each sample that the backup knows as not sent, not answered or not
    /// confirmed, but for those of which the present file still says the same.
    ///
    /// One that waits in the backup may have been released and sent since, and may be so again.
    private func doubt(
        _ connection: Connection, isHeld: Bool, knows: Bool, _ settling: inout HealthSettling
    ) throws {
        let isSame = """
            EXISTS (SELECT 1 FROM present.outbox AS now WHERE now.kind = outbox.kind
                AND now.start_s = outbox.start_s AND now.end_s = outbox.end_s
                AND now.tag = outbox.tag AND now.state = outbox.state
                AND now.doubts = outbox.doubts)
            """
        let isSameBatch = """
            EXISTS (SELECT 1 FROM present.batches AS now WHERE now.id = batches.id
                AND now.state = 'sending' AND now.sends = batches.sends)
            """
        let underWay = try connection.first(
            """
            SELECT count(*) FROM outbox JOIN batches ON batch_id = batches.id
            WHERE outbox.state = 'sending' \(knows ? "AND NOT \(isSameBatch)" : "")
            """
        ) { $0.integer(0) }
        settling.doubtful = underWay ?? 0
        // A batch on its way counts its sends itself.
        try connection.run(
            """
            UPDATE batches SET sends = sends + 1 WHERE state = 'sending'
                \(knows ? "AND NOT \(isSameBatch)" : "")
            """)
        let waiting = HealthStore.retriable.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        // First those that wait, so that the ones that are held below are not among them.
        try connection.run(
            """
            UPDATE outbox SET doubts = doubts + 1
            WHERE state IN (\(waiting))
                AND \(HealthStore.isDiscarded(false)) \(knows ? "AND NOT \(isSame)" : "")
            """)
        settling.doubtful += Int64(connection.changes)
        try connection.run(
            """
            UPDATE outbox SET doubts = doubts + 1\(isHeld ? held : "")
            WHERE state = 'queued' \(knows ? "AND NOT \(isSame)" : "")
            """)
        settling.doubtful += Int64(connection.changes)
        if isHeld { settling.held = Int64(connection.changes) }
    }

    private var held: String {
        ", state = 'setAside', hold = 'doubt', reason = '\(HealthStore.doubtReason)'"
    }
}
