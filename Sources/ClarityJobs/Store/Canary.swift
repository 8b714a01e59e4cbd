import SQLite

/// A known text, sealed when the file was new: the key that opens it is the file's.
///
/// It also says that the file has an audit log, so that one which was removed whole is missed.
enum Canary {
    static let row = RowIdentity("canary")
    /// The text of a file that has an audit log; an earlier file's is empty.
    static let text: [UInt8] = [1]
    /// The text of a file that also has a note of the log's end (`AuditMark`).
    static let notedText: [UInt8] = [2]
    /// The text of a file whose note is to be made anew: it was put back by a restore, or its key was
    /// changed.
    static let renotedText: [UInt8] = [3]

    /// The sealer of the key, if it is the file's; a new file becomes the key's, and a damaged canary
    /// is replaced when something else proves the key.
    ///
    /// - Throws: `SealingError` of `canary` for another key.
    static func sealer(_ key: MasterKey, _ connection: Connection) throws -> Sealer {
        let sealer = try Sealer(key)
        if standing(connection, sealer) != .sound {
            try connection.transaction {
                // Two processes may have opened the new file at once; the first one's canary stays.
                switch standing(connection, sealer) {
                case .sound: return
                case .otherwise: throw SealingError(row)
                case .damaged: break
                case .none, .earlier:
                    try AuditHead.begin(connection, sealer)
                    return try write(text, connection, sealer)
                }
                // Written as expecting a note: damage must not hide that there was one.
                try write(notedText, connection, sealer)
            }
        }
        return try sealer.following(connection)
    }

    /// What a file says of a key.
    enum Standing: Hashable, Sendable {
        /// There is no canary, as in a new file or one that is not ours.
        case none
        case sound
        /// The key's, of a version without an audit log.
        case earlier
        /// Damaged, in a file that is the key's.
        case damaged
        /// Sealed with another key.
        case otherwise
    }

    static func standing(_ connection: Connection, _ sealer: Sealer) -> Standing {
        do {
            let found = try connection.first("SELECT sealed FROM canary") { $0.blob(0) }
            guard let sealed = found, sealer.opens(sealed, for: row) else {
                if isProvedElsewhere(connection, sealer) { return .damaged }
                return try found == nil && isEmpty(connection) ? .none : .otherwise
            }
            return try sealer.open(sealed, for: row).isEmpty ? .earlier : .sound
        } catch {
            // No tables of ours; whoever opens the file in the ordinary way hears of it.
            return .none
        }
    }

    /// The text of the canary; `nil` where it does not open.
    static func text(_ connection: Connection, _ sealer: Sealer) throws -> [UInt8]? {
        let found = try connection.first("SELECT sealed FROM canary") { $0.blob(0) }
        guard let sealed = found, sealer.opens(sealed, for: row) else { return nil }
        return try sealer.open(sealed, for: row)
    }

    static func write(_ text: [UInt8], _ connection: Connection, _ sealer: Sealer) throws {
        try connection.run(
            "INSERT INTO canary (id, sealed) VALUES (1, ?) "
                + "ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed",
            .blob(sealer.seal(text, for: row)))
    }

    /// Whether nothing was ever kept: a file that has lost its canary takes no other key.
    private static func isEmpty(_ connection: Connection) throws -> Bool {
        for table in ["owner", "outbox", "metrics", "insights", "sources"] {
            let count = try connection.first(
                "SELECT count(*) FROM (SELECT 1 FROM \(table) LIMIT 1)"
            ) {
                $0.integer(0)
            }
            if count != 0 { return false }
        }
        return true
    }

    /// Whether something else was made with the key: one damaged byte must not lock everything up.
    ///
    /// While the key is changed only the head of the audit log counts, which turns together with the
    /// canary: the owner may be the new key's long before.
    private static func isProvedElsewhere(_ connection: Connection, _ sealer: Sealer) -> Bool {
        do {
            if try AuditHead.read(connection, sealer)?.isAuthentic == true { return true }
            if try RotationState(connection) != nil { return false }
            return try connection.all("SELECT sealed FROM owner") { $0.blob(0) }
                .contains { sealer.opens($0, for: RowIdentity("owner")) }
        } catch {
            // An earlier version's file knows of neither.
            return false
        }
    }
}

extension Sealer {
    /// The same sealer with the tagging keys that the file has of its former master keys.
    fileprivate func following(_ connection: Connection) throws -> Sealer {
        var keys: [[UInt8]] = []
        for entries in try FormerKeys.entries(connection) {
            let intact = entries.first { opens($0.sealed, for: $0.row) } ?? entries[0]
            keys.append(try open(intact.sealed, for: intact.row))
        }
        return with(formerKeys: keys)
    }
}
