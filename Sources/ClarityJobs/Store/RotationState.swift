import ClarityScheduler
import SQLite

/// How far a change of the master key has come, as the file has it.
struct RotationState: Sendable {
    enum Phase: String, Sendable {
        /// Rows are being sealed anew.
        case rows
        /// Every row is the new key's, which has to be put in the place of the former one.
        case placing
    }

    static let proofRow = RowIdentity("rotation")

    var phase = Phase.rows
    let begunAt: Instant
    /// Sealed with the new key.
    let proof: [UInt8]
    /// Whether the new key was made here and is in a file beside the former one.
    let isNewInFile: Bool
    /// Whether the former key is the state directory's own file.
    let wasFormerInFile: Bool
    /// The table that is being gone through, and its last row that was.
    var table = ""
    var row: Int64 = 0
    /// What was sealed anew, and what could not be since it is damaged.
    var rows: Int64 = 0
    var damaged: Int64 = 0
    /// The hash that the audit log's last entry of those chained anew had before.
    var formerHash: [UInt8]?

    init(
        begunAt: Instant, proof: [UInt8], isNewInFile: Bool, wasFormerInFile: Bool
    ) {
        self.begunAt = begunAt
        self.proof = proof
        self.isNewInFile = isNewInFile
        self.wasFormerInFile = wasFormerInFile
    }

    /// The change that is under way or was cut short; `nil` when there is none.
    init?(_ connection: Connection) throws {
        let found = try connection.first(
            """
            SELECT phase, begun_at_ms, proof, new_in_file, former_in_file, table_name, row, rows,
                damaged, former_hash FROM rotation
            """
        ) { row in
            var state = RotationState(
                begunAt: Instant(millisecondsSince1970: row.integer(1)), proof: row.blob(2),
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
            .text(phase.rawValue), .integer(begunAt.millisecondsSince1970), .blob(proof),
            .integer(isNewInFile ? 1 : 0), .integer(wasFormerInFile ? 1 : 0), .text(table),
            .integer(row), .integer(rows), .integer(damaged),
            formerHash.map { .blob($0) } ?? .null)
    }

    static func remove(_ connection: Connection) throws {
        try connection.run("DELETE FROM rotation")
    }
}
