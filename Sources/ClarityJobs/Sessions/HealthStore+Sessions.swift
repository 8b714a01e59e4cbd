public import ClarityScheduler
import ClaritySystem
import SQLite

// The login. The store belongs to the first user who ever logged in, until a logout removes
// everything: the outbox and the cache are theirs, and must not mix with anybody else's data.

extension HealthStore {
    /// Returns the stored session, or `nil` if nobody is logged in.
    ///
    /// - Throws: `changedHands` after a logout that removed everything: work that this store was
    ///   opened for must not continue as another user.
    public func load() throws(HealthStoreError) -> Session? {
        try access { connection in
            try connection.snapshot {
                try tenancy.check(connection, allowsVacancy: true)
                return try session(connection)
            }
        }
    }

    /// Stores the session of a login in place of the former one.
    ///
    /// If the store has no owner yet, the session's user becomes its owner.
    ///
    /// - Parameter isAgain: whether the login only replaces an ended session, without anybody
    ///   asking.
    /// - Throws: `otherUser` if the store has another owner, or `changedHands`; the former session
    ///   then stays. `loggedOut` if `isAgain` is true and somebody has logged out meanwhile.
    public func save(
        _ session: Session, at now: Instant? = nil, isAgain: Bool = false
    ) throws(HealthStoreError) {
        try changeSession { connection in
            if isAgain, try record(connection) == nil { throw HealthStoreError.loggedOut }
            try claim(for: session.userID, connection)
            try audit.record(.loggedIn, [:], connection)
            try Tenancy.begin(connection)
            try write(session, connection)
            try write(SessionRecord(session, loggedInAt: now), connection)
            try StateDirectory.markLogin(in: folder)
        }
    }

    /// Removes the login mark if nobody is logged in, so that the next login is noticed.
    ///
    /// - Returns: whether nobody is logged in. A concurrent login commits either before this check
    ///   or after it.
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

    /// Stores `renewed`, the renewal of `old`, in its place.
    ///
    /// - Returns: `false`, with nothing changed, if `old` is no longer the stored session: somebody
    ///   has logged in or out meanwhile, and a renewal must not undo that.
    /// - Throws: `otherUser` if the renewal belongs to another user.
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

    /// Removes a session that the backend has ended, but keeps whose it was and why it ended.
    ///
    /// - Returns: `false`, with nothing changed, if it is no longer the stored session.
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

    /// Removes the session and its record. The owner and all data stay.
    public func clear() throws(HealthStoreError) {
        try changeSession { connection in
            try connection.run("DELETE FROM session")
            if connection.changes > 0 { try audit.record(.loggedOut, [:], connection) }
            try StateDirectory.unmarkLogin(in: folder)
            try connection.run("DELETE FROM session_record")
        }
    }

    /// Returns the record of the session, or `nil` before the first login and after a logout.
    public func sessionRecord() throws(HealthStoreError) -> SessionRecord? {
        try access { connection in try record(connection) }
    }

    /// Records a renewal or login that failed.
    ///
    /// - Parameters:
    ///   - reason: the reason in our words; nothing that a backend wrote.
    ///   - isTrouble: whether the backend answered the renewal with an error of its own.
    /// - Returns: the present series of such renewals, or `nil` if there is none.
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

    /// Returns the owner of the data, in lower case, or `nil` before the first login.
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

    /// Decrypts the only row of a table; `nil` if there is none.
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
