import ClarityScheduler
import SQLite

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

    init(
        begunAt: Instant, proof: [UInt8], isNewInFile: Bool, wasFormerInFile: Bool
    ) {
        self.begunAt = begunAt
        self.proof = proof
        self.isNewInFile = isNewInFile
        self.wasFormerInFile = wasFormerInFile
    }

    /// Reads the change that is in progress or was cut short; `nil` if there is none.
    init?(_ connection: Connection) throws {
        let found = try connection.first(
            """
            SELECT phase, begun_at_ms, proof, new_in_file, former_in_file, table_name, row, rows,
                damaged, former_hash FROM rotation
            """
        ) { row in
            var state = RotationState(
                begunAt: row.instant(1), proof: row.blob(2),
                isNewInFile: row.integer(3) == 1, wasFormerInFile: row.integer(4) == 1)
            state.phase = Phase(rawValue: row.text(0)) ?? .rows
            state.table = row.text(5)
            state.row = row.integer(6)
            state.rows = row.integer(7)
            state.damaged = row.integer(8)
            state.formerHash = row.isNull(9) ? nil : row.blob(9)
            return state
        }
        guard let found else { return nil }
        self = found
    }

    func write(_ connection: Connection) throws {
        try connection.run(
            """
            INSERT OR REPLACE INTO rotation (id, phase, begun_at_ms, proof, new_in_file,
                former_in_file, table_name, row, rows, damaged, former_hash)
            VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
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
