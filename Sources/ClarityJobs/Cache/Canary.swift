import SQLite

/// A known text, sealed when the file was new: the key that opens it is the file's.
///
/// It also says that the file has an audit log, so that one which was removed whole is missed.
enum Canary {
    static let row = RowIdentity("canary")
    /// The text of a file that has an audit log; an earlier file's is empty.
    static let text: [UInt8] = [1]

    /// The sealer of the key, if it is the file's; a new file becomes the key's.
    ///
    /// - Throws: `SealingError` of `canary` for another key.
    static func sealer(_ key: MasterKey, _ connection: Connection) throws -> Sealer {
        let sealer = try Sealer(key)
        if try opened(connection, sealer) != text {
            try connection.transaction {
                // Two processes may have opened the new file at once; the first one's canary stays.
                guard try opened(connection, sealer) != text else { return }
                try write(connection, sealer)
                try AuditHead().write(connection, sealer)
            }
        }
        return try sealer.following(connection)
    }

    static func write(_ connection: Connection, _ sealer: Sealer) throws {
        try connection.run(
            "INSERT INTO canary (id, sealed) VALUES (1, ?) "
                + "ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed",
            .blob(sealer.seal(text, for: row)))
    }

    /// `nil` where there is none.
    static func opened(_ connection: Connection, _ sealer: Sealer) throws -> [UInt8]? {
        try connection.first("SELECT sealed FROM canary", map: { $0.blob(0) })
            .map { try sealer.open($0, for: row) }
    }
}

extension Sealer {
    /// The same sealer with the tagging keys that the file has of its former master keys.
    fileprivate func following(_ connection: Connection) throws -> Sealer {
        let former = try connection.all(
            "SELECT generation, sealed FROM former_keys ORDER BY generation"
        ) { ($0.integer(0), $0.blob(1)) }
        return with(
            formerKeys: try former.map { generation, sealed in
                try open(sealed, for: SealedTable.formerKey(generation))
            })
    }
}
