public import ClarityScheduler
import ClaritySystem
import SQLite

// Who is logged in. The store belongs to the first user that ever was, until a logout removes
// everything: the outbox and the cache are theirs, and nobody else's data may mix with them.

extension HealthStore {
    /// The session that was kept; `nil` when nobody is logged in.
    ///
    /// - Throws: `changedHands` after a logout that removed everything: what this store was opened
    ///   for must not go on under another user's name.
    public func load() throws(HealthStoreError) -> Session? {
        try access { connection in
            try connection.snapshot {
                try tenancy.check(connection, allowsVacancy: true)
                return try session(connection)
            }
        }
    }

    /// Keeps the session of a login in place of the former one, and makes its user the store's owner
    /// if there is none.
    ///
    /// - Parameter isAgain: whether nobody asked for the login but a session that has ended.
    /// - Throws: `otherUser` when the store has another owner, and `changedHands`; the former session
    ///   stays. `loggedOut` when `isAgain` and somebody has logged out meanwhile.
    public func save(
        _ session: Session, at now: Instant? = nil, isAgain: Bool = false
    ) throws(HealthStoreError) {
        try changeSession { connection in
            if isAgain, try record(connection) == nil { throw HealthStoreError.loggedOut }
            try claim(for: session.userID, connection)
            try record(.loggedIn, [:], connection)
            try Tenancy.begin(connection)
            try write(session, connection)
            try write(SessionRecord(session, loggedInAt: now), connection)
            try StateDirectory.markLogin(in: folder)
        }
    }

    /// Removes the mark of a login where nobody is logged in, so that the next login is noticed.
    ///
    /// - Returns: whether nobody is logged in. A login under way commits before this looks, or after.
    public func awaitLogin() throws(HealthStoreError) -> Bool {
        try changeAnyway { connection in
            guard try session(connection) == nil else { return false }
            try StateDirectory.unmarkLogin(in: folder)
            return true
        }
    }

    /// The state directory.
    var folder: String {
        String(path.lastIndex(of: "/").map { path[..<$0] } ?? ".")
    }

    /// Keeps `renewed` in place of `old`, whose renewal it is.
    ///
    /// - Returns: `false`, with nothing changed, when `old` is not the kept session any more: somebody
    ///   has logged in or out meanwhile, which a renewal under way must not undo.
    /// - Throws: `otherUser` for a renewal that is another user's.
    public func replace(
        _ old: Session, with renewed: Session, at now: Instant
    ) throws(HealthStoreError) -> Bool {
        try changeSession { connection in
            guard try isKept(old, connection) else { return false }
            guard try owner(connection) == renewed.userID.lowercased() else {
                throw HealthStoreError.otherUser(path: path)
            }
            try write(renewed, connection)
            var record = try record(connection) ?? SessionRecord(old, loggedInAt: nil)
            record.renewedAt = now
            record.trouble = nil
            try write(record, connection)
            return true
        }
    }

    /// Forgets a session that the backend has ended; who it was and why it ended stays.
    ///
    /// - Returns: `false`, with nothing changed, when it is not the kept session any more.
    public func remove(
        _ session: Session, because reason: String, at now: Instant
    ) throws(HealthStoreError) -> Bool {
        try changeSession { connection in
            guard try isKept(session, connection) else { return false }
            var record = try record(connection) ?? SessionRecord(session, loggedInAt: nil)
            record.refusal = SessionRecord.Refusal(at: now, reason: reason)
            record.trouble = nil
            try write(record, connection)
            try connection.run("DELETE FROM session")
            return true
        }
    }

    /// Forgets the session and how it fared. The owner and all data stay.
    public func clear() throws(HealthStoreError) {
        try changeSession { connection in
            try connection.run("DELETE FROM session")
            if connection.changes > 0 { try record(.loggedOut, [:], connection) }
            try StateDirectory.unmarkLogin(in: folder)
            try connection.run("DELETE FROM session_record")
        }
    }

    /// How the session came about and fares; `nil` before the first login and after a logout.
    public func sessionRecord() throws(HealthStoreError) -> SessionRecord? {
        try access { connection in try record(connection) }
    }

    /// Notes a renewal or login that failed.
    ///
    /// - Parameters:
    ///   - reason: in our words; nothing that a backend wrote.
    ///   - isTrouble: whether it counts to the renewals in a row that met an error of the backend.
    /// - Returns: the trouble as it stands now.
    public func noteRefusal(
        _ reason: String, isTrouble: Bool, at now: Instant
    ) throws(HealthStoreError) -> SessionRecord.Trouble? {
        try changeSession { connection in
            let old = try session(connection).map { SessionRecord($0, loggedInAt: nil) }
            guard var record = try record(connection) ?? old else { return nil }
            record.refusal = SessionRecord.Refusal(at: now, reason: reason)
            if isTrouble {
                record.trouble = SessionRecord.Trouble.next(after: record.trouble, at: now)
            }
            try write(record, connection)
            return record.trouble
        }
    }

    /// The user whose data this is, in lower case; `nil` before the first login.
    public func owner() throws(HealthStoreError) -> String? {
        try access { connection in try self.owner(connection) }
    }

    private func changeSession<Result>(
        _ body: (Connection) throws -> Result
    ) throws(HealthStoreError) -> Result {
        try changeAnyway { connection in
            try tenancy.check(connection, allowsVacancy: true)
            return try body(connection)
        }
    }

    private func isKept(_ session: Session, _ connection: Connection) throws -> Bool {
        let kept = try self.session(connection)
        return kept?.refreshToken == session.refreshToken
            && kept?.accessToken == session.accessToken
    }

    private func session(_ connection: Connection) throws -> Session? {
        guard let bytes = try opened("session", connection) else { return nil }
        guard let session = Session(sealedForm: bytes) else { throw SealingError(table: "session") }
        return session
    }

    private func record(_ connection: Connection) throws -> SessionRecord? {
        guard let bytes = try opened("session_record", connection) else { return nil }
        guard let record = SessionRecord(sealedForm: bytes) else {
            throw SealingError(table: "session_record")
        }
        return record
    }

    private func owner(_ connection: Connection) throws -> String? {
        guard let sealed = try connection.first("SELECT sealed FROM owner", map: { $0.blob(0) })
        else { return nil }
        return try ownerText(sealed, connection)
    }

    private func claim(for userID: String, _ connection: Connection) throws {
        let user = userID.lowercased()
        if let owner = try owner(connection) {
            guard owner == user else { throw HealthStoreError.otherUser(path: path) }
            try repairOwner(user, connection)
        } else {
            try write(Array(user.utf8), to: "owner", connection)
        }
    }

    private func write(_ session: Session, _ connection: Connection) throws {
        try write(session.sealedForm, to: "session", connection)
    }

    private func write(_ record: SessionRecord, _ connection: Connection) throws {
        try write(record.sealedForm, to: "session_record", connection)
    }

    /// Opens the only row of a table; `nil` when there is none.
    private func opened(_ table: String, _ connection: Connection) throws -> [UInt8]? {
        let sealed = try connection.first("SELECT sealed FROM \(table)") { $0.blob(0) }
        return try sealed.map { try sealer.open($0, for: RowIdentity(table)) }
    }

    private func write(_ plain: [UInt8], to table: String, _ connection: Connection) throws {
        try connection.run(
            """
            INSERT INTO \(table) (id, sealed) VALUES (1, ?)
            ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed
            """, .blob(sealer.seal(plain, for: RowIdentity(table))))
    }
}
