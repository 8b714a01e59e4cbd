import Database

/// A known text that is encrypted when the file is new. The key that decrypts it is the file's key.
///
/// The text also says that the file has an audit log, so that removing the whole log is detected.
enum KeyCheck {
    static let row = RowIdentity("canary")
    /// The text of a file that has an audit log.
    static let text: [UInt8] = [1]
    /// The text of a file that also has a note of the log's end (`AuditMark`).
    static let notedText: [UInt8] = [2]
    /// The text of a file whose note must be rewritten, because the file was restored or its key
    /// was changed.
    static let renotedText: [UInt8] = [3]

    /// Returns the cipher of the key if it is the file's key. A new file is bound to the key. A
    /// damaged key check is replaced if something else proves the key.
    ///
    /// - Throws: `EncryptionError` of `keyCheck` for another key.
    static func cipher(_ key: MasterKey, _ connection: Connection) throws -> Cipher {
        let cipher = try Cipher(key)
        if state(connection, cipher) != .sound {
            try connection.transaction {
                // Two processes may have opened the new file at once; the key check of the first
                // one stays.
                switch state(connection, cipher) {
                case .sound: return
                case .otherwise: throw EncryptionError(row)
                case .damaged: break
                case .none:
                    try AuditHead.begin(connection, cipher)
                    return try write(text, connection, cipher)
                }
                // This text expects a note, because damage must not hide that there was one.
                try write(notedText, connection, cipher)
            }
        }
        return try cipher.following(connection)
    }

    /// What a file says about a key.
    enum State: Hashable, Sendable {
        /// There is no key check, as in a new file or a file that is not ours.
        case none
        case sound
        /// The key check is damaged, but the key is the file's.
        case damaged
        /// The key check was encrypted with another key.
        case otherwise
    }

    static func state(_ connection: Connection, _ cipher: Cipher) -> State {
        do {
            if try text(connection, cipher) != nil { return .sound }
            if isProvedElsewhere(connection, cipher) { return .damaged }
            let isMissing = try connection.encryptedValue(of: "canary") == nil
            return try isMissing && isEmpty(connection) ? .none : .otherwise
        } catch {
            // The file does not have our tables; opening it in the ordinary way reports that.
            return .none
        }
    }

    /// Returns the text of the key check; `nil` if it cannot be decrypted.
    static func text(_ connection: Connection, _ cipher: Cipher) throws -> [UInt8]? {
        try connection.openedValue(of: "canary", cipher)
    }

    static func write(_ text: [UInt8], _ connection: Connection, _ cipher: Cipher) throws {
        try connection.write(text, to: "canary", cipher)
    }

    /// Whether the file holds no data. A file that has lost its key check must not accept another
    /// key.
    private static func isEmpty(_ connection: Connection) throws -> Bool {
        try !["owner", "outbox", "metrics", "insights", "sources"].contains { table in
            try connection.hasRows(table)
        }
    }

    /// Whether something else in the file was made with the key. One damaged byte must not lock
    /// everything up.
    ///
    /// While the key is being changed, only the head of the audit log counts, because it changes
    /// together with the key check. The owner may be encrypted with the new key long before.
    private static func isProvedElsewhere(_ connection: Connection, _ cipher: Cipher) -> Bool {
        do {
            let isRotating = try RotationState(connection) != nil
            let owners = try connection.all("SELECT sealed FROM owner") { $0.blob(0) }
            if !isRotating,
                owners.contains(where: { cipher.opened($0, for: RowIdentity("owner")) != nil })
            {
                return true
            }
            return try AuditHead.read(connection, cipher)?.isAuthentic == true
        } catch {
            // The file does not have our tables; opening it in the ordinary way reports that.
            return false
        }
    }
}

extension Cipher {
    /// Returns the same cipher with the index keys of the file's former master keys.
    fileprivate func following(_ connection: Connection) throws -> Cipher {
        var keys: [[UInt8]] = []
        for entries in try FormerKeys.entries(connection) {
            let intact = entries.first { opened($0.encrypted, for: $0.row) != nil } ?? entries[0]
            keys.append(try open(intact.encrypted, for: intact.row))
        }
        return with(formerKeys: keys)
    }
}
