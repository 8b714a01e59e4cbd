import ClarityScheduler
import SQLite

// Who is logged in. The store belongs to the first user that ever was: the outbox and the cache
// are theirs, and nobody else's data may mix with them.

extension HealthStore {
    /// The session that was kept; `nil` when nobody is logged in.
    public func load() throws(HealthStoreError) -> Session? {
        try access { connection in
            let row = RowIdentity("session")
            guard
                let sealed = try connection.first("SELECT sealed FROM session", map: { $0.blob(0) })
            else { return nil }
            guard let session = Session(sealedForm: try sealer.open(sealed, for: row)) else {
                throw SealingError(table: "session")
            }
            return session
        }
    }

    /// Keeps a session in place of the former one, and makes its user the store's owner if there is
    /// none.
    ///
    /// - Throws: `otherUser` when the store has another owner; the former session stays.
    public func save(_ session: Session) throws(HealthStoreError) {
        try change { connection in
            try claim(for: session.userID, connection)
            try recordLogin(connection)
            try connection.run(
                """
                INSERT INTO session (id, sealed) VALUES (1, ?)
                ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed
                """, .blob(sealer.seal(session.sealedForm, for: RowIdentity("session"))))
        }
    }

    /// Forgets the session. The owner and all data stay.
    public func clear() throws(HealthStoreError) {
        try change { connection in
            try connection.run("DELETE FROM session")
            if connection.changes > 0 { try record(.loggedOut, [:], connection) }
        }
    }

    /// The user whose data this is, in lower case; `nil` before the first login.
    public func owner() throws(HealthStoreError) -> String? {
        try access { connection in try self.owner(connection) }
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
            try connection.run(
                "INSERT INTO owner (id, sealed) VALUES (1, ?)",
                .blob(sealer.seal(Array(user.utf8), for: RowIdentity("owner"))))
        }
    }
}
