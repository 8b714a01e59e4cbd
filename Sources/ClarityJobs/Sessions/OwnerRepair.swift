import SQLite

// A damaged owner must not lock a person out of their own data.

extension HealthStore {
    /// Decrypts the owner, or takes it from the session if it does not decrypt.
    ///
    /// Nobody without the key can have made the session, so it can be trusted. The next change
    /// stores the owner again (`repairOwner`).
    ///
    /// - Throws: `SealingError` of `owner` if the session does not decrypt either, because then
    ///   nothing proves whose data it is.
    func ownerText(_ sealed: [UInt8], _ connection: Connection) throws -> String {
        let row = RowIdentity("owner")
        if sealer.opens(sealed, for: row) {
            return String(decoding: try sealer.open(sealed, for: row), as: UTF8.self)
        }
        let kept = RowIdentity("session")
        guard
            let session = try connection.first("SELECT sealed FROM session", map: { $0.blob(0) }),
            sealer.opens(session, for: kept),
            let user = Session(sealedForm: try sealer.open(session, for: kept))?.userID.lowercased()
        else { throw SealingError(row) }
        return user
    }

    /// Encrypts the owner again if the stored one does not decrypt.
    func repairOwner(_ user: String, _ connection: Connection) throws {
        let row = RowIdentity("owner")
        let sealed = try connection.first("SELECT sealed FROM owner", map: { $0.blob(0) })
        guard let sealed, !sealer.opens(sealed, for: row) else { return }
        try connection.run(
            "UPDATE owner SET sealed = ?", .blob(sealer.seal(Array(user.utf8), for: row)))
    }
}
