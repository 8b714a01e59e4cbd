import Database
import ClarityScheduler

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
    /// The first byte of the text of a server's data that was accepted after a restore; the number
    /// by which that raised the era of the notes follows (`ServerNote`).
    static let acceptedMark: UInt8 = 4

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

    /// A statement that fails if the master key was changed since a cipher was made: each change
    /// leaves one former key more.
    static let isPresent = """
        SELECT 1 / CAST(count(DISTINCT generation) = ? AS integer) FROM former_keys
        """

    /// Has the transactions of a server's session fail from the instant at which another process
    /// has changed the master key.
    ///
    /// - Throws: `DatabaseError` of `isPresent` if that has happened.
    static func guardWrites(of connection: Connection, _ cipher: Cipher) throws {
        guard let session = connection as? ServerConnection else { return }
        let formerKeys = Value.integer(Int64(cipher.indexKeys.count - 1))
        session.beginWrites(with: isPresent, formerKeys)
        try session.run(isPresent, formerKeys)
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

/// The progress of a change of the master key, as the file records it.
struct RotationState: Sendable {
    enum Phase: String, Sendable {
        /// Rows are being encrypted again.
        case rows
        /// Every row is encrypted with the new key, which must now replace the former one.
        case placing
    }

    static let proofRow = RowIdentity("rotation")

    var phase = Phase.rows
    let begunAt: Instant
    /// Encrypted with the new key.
    let proof: [UInt8]
    /// Whether the new key was made here and is in a file beside the former one.
    let isNewInFile: Bool
    /// Whether the former key is in the state directory's own file.
    let wasFormerInFile: Bool
    /// The table in progress, and its last row that is done.
    var table = ""
    var row: Int64 = 0
    /// The number of rows that were encrypted again, and of rows that could not be because they are
    /// damaged.
    var rows: Int64 = 0
    var damaged: Int64 = 0
    /// The former hash of the last audit entry that was chained again.
    var formerHash: [UInt8]?

}

extension RotationState {
    private enum Column: String, RowColumn {
        case phase, begun_at_ms, proof, new_in_file, former_in_file, table_name, row, rows, damaged
        case former_hash
    }

    /// Reads the change that is in progress or was cut short; `nil` if there is none.
    init?(_ connection: Connection) throws {
        let found = try connection.first("SELECT \(Column.list) FROM rotation") { row in
            RotationState(
                phase: Phase(rawValue: row.text(Column.phase)) ?? .rows,
                begunAt: row.instant(Column.begun_at_ms), proof: row.blob(Column.proof),
                isNewInFile: row.integer(Column.new_in_file) == 1,
                wasFormerInFile: row.integer(Column.former_in_file) == 1,
                table: row.text(Column.table_name), row: row.integer(Column.row),
                rows: row.integer(Column.rows), damaged: row.integer(Column.damaged),
                formerHash: row.isNull(Column.former_hash) ? nil : row.blob(Column.former_hash))
        }
        guard let found else { return nil }
        self = found
    }

    func write(_ connection: Connection) throws {
        try connection.run(
            """
            INSERT INTO rotation (id, \(Column.list)) VALUES (1, \(Column.parameters))
            ON CONFLICT (id) DO UPDATE SET \(Column.replacements(besides: []))
            """,
            .text(phase.rawValue), .instant(begunAt), .blob(proof),
            .integer(isNewInFile ? 1 : 0), .integer(wasFormerInFile ? 1 : 0), .text(table),
            .integer(row), .integer(rows), .integer(damaged),
            formerHash.map { .blob($0) } ?? .null)
    }

    static func remove(_ connection: Connection) throws {
        try connection.run("DELETE FROM rotation")
    }
}

/// The index keys of former master keys. Each is stored twice: if one were missing, no blind index
/// could be computed and no sample would be recognised again.
enum FormerKeys {
    static let copies: ClosedRange<Int64> = 1...2

    struct Entry {
        let encrypted: [UInt8]
        let row: RowIdentity
    }

    /// Returns the copies of each key, oldest key first.
    static func entries(_ connection: Connection) throws -> [[Entry]] {
        var keys: [[Entry]] = []
        var last: Int64 = 0
        for (generation, copy, encrypted) in try connection.all(
            "SELECT generation, copy, sealed FROM former_keys ORDER BY generation, copy",
            map: { ($0.integer(0), $0.integer(1), $0.blob(2)) })
        {
            if generation != last { keys.append([]) }
            last = generation
            keys[keys.count - 1].append(Entry(encrypted: encrypted, row: row(generation, copy)))
        }
        return keys
    }

    /// Stores all former keys, encrypted with `next`, whose key follows one that was in use until
    /// `now`.
    static func write(
        _ keys: [[UInt8]], _ connection: Connection, _ next: Cipher, at now: Instant
    ) throws {
        for (index, key) in keys.enumerated() {
            let generation = Int64(index) + 1
            for copy in copies {
                // The time at which an earlier key was retired stays as it is.
                try connection.run(
                    """
                    INSERT INTO former_keys (generation, copy, sealed, retired_at_ms)
                    VALUES (?, ?, ?, ?)
                    ON CONFLICT (generation, copy) DO UPDATE SET sealed = excluded.sealed
                    """,
                    .integer(generation), .integer(copy),
                    .blob(next.encrypt(key, for: row(generation, copy))),
                    .instant(now))
            }
        }
    }

    private static func row(_ generation: Int64, _ copy: Int64) -> RowIdentity {
        RowIdentity("former_keys", label: "\(generation)/\(copy)", generation, copy)
    }
}
