import ClarityScheduler
import Database

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
