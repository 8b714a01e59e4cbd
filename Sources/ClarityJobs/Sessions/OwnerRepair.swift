import SQLite

// A damaged owner must not keep a person from their own data.

extension HealthStore {
    /// The owner that was sealed; one that does not open is taken from the session, which nobody
    /// without the key can have made, and kept anew with the next change.
    ///
    /// - Throws: `SealingError` of `owner` when there is no session that opens either: whose data it
    ///   is could then be anybody's word.
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

    /// Seals the owner anew where it does not open.
    func repairOwner(_ user: String, _ connection: Connection) throws {
        let row = RowIdentity("owner")
        let sealed = try connection.first("SELECT sealed FROM owner", map: { $0.blob(0) })
        guard let sealed, !sealer.opens(sealed, for: row) else { return }
        try connection.run(
            "UPDATE owner SET sealed = ?", .blob(sealer.seal(Array(user.utf8), for: row)))
    }
}
