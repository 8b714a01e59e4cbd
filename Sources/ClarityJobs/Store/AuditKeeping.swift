public import ClarityScheduler
import SQLite

// The audit log as the store's users see it. Entries are appended where the work is done, in the
// transaction of the change that they tell of.

extension HealthStore {
    /// Notes something that changes nothing in the store, such as an export.
    ///
    /// - Parameters:
    ///   - counts: how many of which kinds; never values.
    ///   - detail: more of it, in words of this program and without anything of the data.
    public func record(
        _ action: AuditAction, _ counts: [String: Int64] = [:], detail: String = ""
    ) throws(HealthStoreError) {
        try changeAnyway { connection in
            try record(action, counts, detail: detail, connection)
        }
    }

    /// The same within the transaction of the change.
    func record(
        _ action: AuditAction, _ counts: [String: Int64], detail: String = "",
        _ connection: Connection
    ) throws {
        let log = try auditLog(connection)
        try log.append(
            AuditEntry(
                action, user: try log.user(), actor: actor, counts: counts, detail: detail),
            at: clock.now)
    }

    /// Makes sure that the store's data is a user's, whom a session names in any case of letters.
    ///
    /// - Throws: `HealthStoreError.otherUser`, also where nobody has ever logged in.
    func demandOwner(_ user: String, _ connection: Connection) throws {
        let owner = try AuditLog(connection: connection, sealer: sealer).user()
        guard owner == user.lowercased() else { throw HealthStoreError.otherUser(path: path) }
    }

    /// Notes what became of a batch, within the transaction that settles it and before its samples
    /// leave it.
    func record(
        _ action: AuditAction, batch: Int64, detail: String, _ connection: Connection
    ) throws {
        var counts: [String: Int64] = [:]
        try connection.forEach(
            "SELECT kind, count(*) FROM outbox WHERE batch_id = ? GROUP BY kind",
            [.integer(batch)]
        ) { counts[$0.text(0)] = $0.integer(1) }
        try record(action, counts, detail: detail, connection)
    }

    /// Notes samples that came from a source, by kind; those that were known already are no news.
    func recordRead(
        _ read: [SampleKind: Int64], added: Int64, _ connection: Connection
    ) throws {
        guard added > 0 else { return }
        let counts = Dictionary(uniqueKeysWithValues: read.map { ($0.rawValue, $1) })
        let news = added == read.values.reduce(0, +) ? "all new" : "\(added) new"
        try record(.read, counts, detail: "from a source, \(news)", connection)
    }

    /// The entries after `number` and not before `since`, in their order, at most `limit`.
    public func auditRecords(
        after number: Int64 = 0, since: Instant? = nil, limit: Int
    ) throws(HealthStoreError) -> [AuditRecord] {
        try access { connection in
            try AuditLog(connection: connection, sealer: sealer)
                .records(after: number, since: since, limit: limit)
        }
    }

    /// Checks the whole log, in one state of the file.
    public func verifyAudit() throws(HealthStoreError) -> AuditProof {
        try access { connection in
            // The note first: another process may add an entry and note it meanwhile.
            let log = try auditLog(connection)
            return try connection.snapshot { try AuditProof(log) }
        }
    }

    /// The log with the note of its end, to be checked against it.
    func auditLog(_ connection: Connection) throws -> AuditLog {
        AuditLog(
            connection: connection, sealer: sealer, note: try share?.note(of: connection, sealer))
    }

    /// Notes the end of the log outside of the file, after a commit that may have added entries.
    ///
    /// A log that the note speaks against is noted only when its head tells of that.
    func noteEnd(_ connection: Connection) throws {
        guard let share, let note = try share.note(of: connection, sealer),
            let (head, isAuthentic) = try AuditHead.read(connection, sealer), isAuthentic
        else { return }
        let content = AuditMark(head).content(sealer)
        guard content != note.content else { return }
        let finding = try AuditMark.finding(note, head, connection, sealer)
        guard finding == nil || head.brokenNumber != nil else { return }
        // All is committed. A note that could not be written is behind, and the next one is not.
        _ = share.write(note: content)
    }

    /// Has the head tell of what the note says against the log.
    static func noteBreak(
        _ connection: Connection, _ sealer: Sealer, _ lock: StoreLock
    ) throws {
        try connection.transaction {
            var head = try AuditHead.current(connection, sealer)
            guard let note = try lock.note(of: connection, sealer),
                let finding = try AuditMark.finding(note, head, connection, sealer)
            else { return }
            head.take(finding)
            try head.write(connection, sealer)
        }
    }

    /// Makes the note of a file that has none yet, or whose note is to be made anew.
    func beginNote(_ connection: Connection) throws {
        guard let share, let text = try Canary.text(connection, sealer), text != Canary.notedText
        else { return }
        guard let (head, isAuthentic) = try AuditHead.read(connection, sealer), isAuthentic else {
            return
        }
        if text == Canary.renotedText || share.note.isEmpty {
            guard share.write(note: AuditMark(head).content(sealer)) else { return }
        }
        try connection.transaction { try Canary.write(Canary.notedText, connection, sealer) }
    }

    /// The last entry that was uploaded; 0 for none.
    public func uploadedAudit() throws(HealthStoreError) -> Int64 {
        try access { connection in
            try AuditHead.current(connection, sealer).uploadedNumber
        }
    }

    /// Notes that all entries up to `number` were uploaded; an earlier number, or one that no entry
    /// has, changes nothing.
    public func confirmAuditUpload(through number: Int64) throws(HealthStoreError) {
        try changeAnyway { connection in
            var head = try AuditHead.current(connection, sealer)
            guard head.uploadedNumber < number, number <= head.lastNumber else { return }
            head.uploadedNumber = number
            try head.write(connection, sealer)
        }
    }

    /// Removes entries that were uploaded, from the oldest on, up to `number` at most; what is left
    /// can be checked as before.
    ///
    /// - Returns: how many were removed.
    public func pruneAudit(through number: Int64) throws(HealthStoreError) -> Int64 {
        try changeAnyway { connection in try pruneAudit(through: number, connection) }
    }

    /// The same within a transaction.
    func pruneAudit(through number: Int64, _ connection: Connection) throws -> Int64 {
        var head = try AuditHead.current(connection, sealer)
        let end = min(number, head.uploadedNumber)
        let hash = try connection.first(
            "SELECT hash FROM audit WHERE number = ?", .integer(end)
        ) { $0.blob(0) }
        guard end > head.anchorNumber, let hash else { return 0 }
        try connection.run("DELETE FROM audit WHERE number <= ?", .integer(end))
        let removed = Int64(connection.changes)
        (head.anchorNumber, head.anchorHash) = (end, hash)
        try head.write(connection, sealer)
        return removed
    }
}

extension StoreLock {
    /// The note of the log's end; `nil` where it does not count, since it is to be made anew.
    func note(of connection: Connection, _ sealer: Sealer) throws -> AuditMark.Note? {
        let content = note
        let text = try Canary.text(connection, sealer)
        if text == Canary.renotedText { return nil }
        return AuditMark.Note(content: content, isExpected: text == Canary.notedText)
    }
}
