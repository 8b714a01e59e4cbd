public import ClarityScheduler
import Database

/// The audit log of a store. Each entry is appended in the transaction of the change that it
/// describes.
public struct Audit: Sendable {
    let store: HealthStore

    private var cipher: Cipher { store.cipher }

    /// Records something that changes nothing in the store, such as an export.
    ///
    /// - Parameters:
    ///   - counts: the number of each kind; never values.
    ///   - detail: more about it, in words of this program and without any of the data.
    public func record(
        _ action: AuditAction, _ counts: [String: Int64] = [:], detail: String = ""
    ) throws(HealthStoreError) {
        try store.changeAnyway { connection in
            try record(action, counts, detail: detail, connection)
        }
    }

    /// Records that somebody looked at data, unless one of the last 500 entries since `start` says
    /// the same: the action, the kinds and the detail, whatever the counts.
    ///
    /// For somebody who looks at the same data again and again, such as a browser.
    public func recordOnce(
        _ action: AuditAction, _ counts: [String: Int64], detail: String, since start: Instant
    ) throws(HealthStoreError) {
        func isRecorded(_ connection: Connection) throws -> Bool {
            let log = try self.log(connection)
            let last = try AuditHead.current(connection, cipher).lastNumber
            let wanted = AuditEntry(
                action, user: try log.user(), actor: store.actor, counts: counts, detail: detail)
            return try log.records(after: last - 500, since: start, limit: 500)
                .contains { record in
                    guard let entry = record.entry else { return false }
                    return entry.action == wanted.action && entry.user == wanted.user
                        && entry.actor == wanted.actor && entry.detail == wanted.detail
                        && entry.counts.keys == wanted.counts.keys
                }
        }
        // Without the lock of a writer at first: mostly there is nothing to write.
        guard !(try store.access { connection in try isRecorded(connection) }) else { return }
        try store.changeAnyway { connection in
            guard !(try isRecorded(connection)) else { return }
            try record(action, counts, detail: detail, connection)
        }
    }

    /// Records an entry within the transaction of the change.
    func record(
        _ action: AuditAction, _ counts: [String: Int64], detail: String = "",
        _ connection: Connection
    ) throws {
        let log = try self.log(connection)
        try log.append(
            AuditEntry(
                action, user: try log.user(), actor: store.actor, counts: counts, detail: detail),
            at: store.clock.now)
    }

    /// Returns the entries after `number` and not before `since`, in their order, at most `limit`.
    public func records(
        after number: Int64 = 0, since: Instant? = nil, limit: Int
    ) throws(HealthStoreError) -> [AuditRecord] {
        try store.access { connection in
            try AuditLog(connection: connection, cipher: cipher)
                .records(after: number, since: since, limit: limit)
        }
    }

    /// Checks the whole log, in one snapshot.
    public func verify() throws(HealthStoreError) -> AuditProof {
        try store.access { connection in
            // The note is read first, because another process may add an entry and note it in the
            // meantime.
            let log = try self.log(connection)
            return try connection.snapshot { try AuditProof(log) }
        }
    }

    /// Returns the log together with the note of its end, to be checked against it.
    func log(_ connection: Connection) throws -> AuditLog {
        AuditLog(
            connection: connection, cipher: cipher,
            note: try store.place.note?.note(of: connection, cipher))
    }

    /// Writes the note of the log's end outside of the database, after a commit that may have added
    /// entries.
    ///
    /// If the existing note contradicts the log, it is replaced only if the head already records a
    /// break.
    func noteEnd(_ connection: Connection) throws {
        guard let place = store.place.note, place.isOwed,
            let note = try place.note(of: connection, cipher),
            let (head, isAuthentic) = try AuditHead.read(connection, cipher), isAuthentic
        else { return }
        let content = AuditMark(head).content(cipher)
        guard content != note.content else { return place.settle() }
        let finding = try AuditMark.finding(note, head, connection, cipher)
        guard finding == nil || head.brokenNumber != nil else { return }
        // Everything is committed. If this write fails, the note lags behind until the next one.
        if place.write(note: content) { place.settle() }
    }

    /// Records a break in the head if the note contradicts the log, in the current transaction.
    func noteBreak(_ connection: Connection) throws {
        guard let place = store.place.note else { return }
        try Audit.noteBreak(connection, cipher, place)
    }

    static func noteBreak(_ connection: Connection, _ cipher: Cipher, _ place: any EndNote) throws {
        var head = try AuditHead.current(connection, cipher)
        guard let note = try place.note(of: connection, cipher),
            let finding = try AuditMark.finding(note, head, connection, cipher)
        else { return }
        head.take(finding)
        try head.write(connection, cipher)
    }

    /// Writes the note of a file that has none yet, or whose note must be rewritten.
    func beginNote(_ connection: Connection) throws {
        guard let share = store.place.share, let text = try KeyCheck.text(connection, cipher),
            text != KeyCheck.notedText
        else { return }
        guard let (head, isAuthentic) = try AuditHead.read(connection, cipher), isAuthentic else {
            return
        }
        if text == KeyCheck.renotedText || share.note.isEmpty {
            guard share.write(note: AuditMark(head).content(cipher)) else { return }
        }
        try connection.transaction { try KeyCheck.write(KeyCheck.notedText, connection, cipher) }
    }

    /// Returns what contradicts the end of a server's log: the note of this machine, or what a
    /// writer has found before. `nil` for a log in a file, which `verify` checks.
    public func endBreak() throws(HealthStoreError) -> AuditProof.Break? {
        guard store.place.note is ServerNote else { return nil }
        return try store.access { connection in try endBreak(connection) }
    }

    private func endBreak(_ connection: Connection) throws -> AuditProof.Break? {
        let note = try log(connection).note
        let head = try AuditHead.current(connection, cipher)
        let finding = try note.flatMap {
            try AuditMark.finding($0, head, connection, cipher)
        }
        let place =
            finding?.place(after: head.lastNumber)
            ?? head.brokenNumber.map { (number: $0, reason: AuditProof.foundChanged) }
        return place.map { AuditProof.Break(number: $0.number, reason: $0.reason) }
    }

    /// Takes a server's log as it ends, and records that, if something contradicts its end: a person
    /// has put an older state back. The notes of other machines then count no more.
    ///
    /// - Returns: what contradicted it; nothing has changed if that is `nil`.
    public func acceptEnd() throws(HealthStoreError) -> AuditProof.Break? {
        guard let note = store.place.note as? ServerNote else { return nil }
        return try store.changeAnyway { connection in
            guard let found = try endBreak(connection) else { return nil }
            try note.beginEra(connection, cipher)
            var head = try AuditHead.current(connection, cipher)
            head.brokenNumber = nil
            try head.write(connection, cipher)
            try record(
                .restored, [:],
                detail: "the log was taken as it ends, by audit --repair", connection)
            return found
        }
    }

    /// Returns the number of the last entry that was uploaded; 0 for none.
    public func uploadedNumber() throws(HealthStoreError) -> Int64 {
        try store.access { connection in
            try AuditHead.current(connection, cipher).uploadedNumber
        }
    }

    /// Records that all entries up to `number` were uploaded. A number that is not larger than the
    /// last uploaded one, or that no entry has, changes nothing.
    public func confirmUpload(through number: Int64) throws(HealthStoreError) {
        try store.changeAnyway { connection in
            var head = try AuditHead.current(connection, cipher)
            guard head.uploadedNumber < number, number <= head.lastNumber else { return }
            head.uploadedNumber = number
            try head.write(connection, cipher)
        }
    }

    /// Removes uploaded entries, from the oldest up to `number` at most. The remaining entries can
    /// be checked as before.
    ///
    /// - Returns: how many entries were removed.
    public func prune(through number: Int64) throws(HealthStoreError) -> Int64 {
        try store.changeAnyway { connection in try prune(through: number, connection) }
    }

    /// Removes the entries within a transaction.
    func prune(through number: Int64, _ connection: Connection) throws -> Int64 {
        var head = try AuditHead.current(connection, cipher)
        let end = min(number, head.uploadedNumber)
        let hash = try connection.blob("SELECT hash FROM audit WHERE number = ?", .integer(end))
        guard end > head.anchorNumber, let hash else { return 0 }
        let removed = try connection.change("DELETE FROM audit WHERE number <= ?", .integer(end))
        (head.anchorNumber, head.anchorHash) = (end, hash)
        try head.write(connection, cipher)
        return removed
    }
}

extension HealthStore {
    /// The audit log.
    public var audit: Audit { Audit(store: self) }
}

extension StoreLock: EndNote {
    var isOwed: Bool { true }
    func settle() {}

    func note(of connection: Connection, _ cipher: Cipher) throws -> AuditMark.Note? {
        let content = note
        let text = try KeyCheck.text(connection, cipher)
        if text == KeyCheck.renotedText { return nil }
        return AuditMark.Note(content: content, isExpected: text == KeyCheck.notedText)
    }
}
