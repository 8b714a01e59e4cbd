import Database

/// The beginning and the end of the audit log, authenticated with a key of its own.
///
/// It reveals that entries were cut off, or that the log was replaced by another one.
struct AuditHead: Hashable, Sendable {
    /// The last pruned entry with its hash; 0 for none.
    var anchorNumber: Int64 = 0
    var anchorHash = [UInt8](repeating: 0, count: 32)
    /// The last entry with its hash; in an empty log, the anchor.
    var lastNumber: Int64 = 0
    var lastHash = [UInt8](repeating: 0, count: 32)
    /// The last uploaded entry.
    var uploadedNumber: Int64 = 0
    /// The entry at which a writer found the log changed from outside.
    ///
    /// It is kept for ever, because the head written afterwards is authentic again.
    var brokenNumber: Int64?
    /// The counts of the rows that belong to this head.
    var counts = Counts()

    /// The sums over the counts of rows (`CountRow`), by which a count that was removed, or
    /// replaced by an older one, is missed.
    ///
    /// Each write of a count has a generation of its own, and no count is ever removed by itself.
    /// So every older count makes `sum` smaller, and no other set of them has the same sum.
    struct Counts: Hashable, Sendable {
        /// The number of writes of counts so far; 0 in a file whose rows were never counted.
        var generation: Int64 = 0
        /// How many counts there are.
        var rows: Int64 = 0
        /// The sum of their generations.
        var sum: Int64 = 0
        /// The generation after which they were all made anew.
        var floor: Int64 = 0
    }

    /// Returns the stored head and whether this key made it, or `nil` if there is none.
    static func read(
        _ connection: Connection, _ sealer: Sealer
    ) throws -> (head: AuditHead, isAuthentic: Bool)? {
        try connection.first("SELECT \(Column.list) FROM audit_head") { row in
            let head = AuditHead(
                anchorNumber: row.integer(Column.anchor_number),
                anchorHash: row.blob(Column.anchor_hash),
                lastNumber: row.integer(Column.last_number), lastHash: row.blob(Column.last_hash),
                uploadedNumber: row.integer(Column.uploaded_number),
                brokenNumber: row.optionalInteger(Column.broken_number),
                counts: Counts(
                    generation: row.integer(Column.count_generation),
                    rows: row.integer(Column.count_rows), sum: row.integer(Column.count_sum),
                    floor: row.integer(Column.count_floor)))
            return (head, head.mac(sealer) == row.blob(Column.mac))
        }
    }

    private enum Column: String, RowColumn {
        case anchor_number, anchor_hash, last_number, last_hash, uploaded_number, broken_number
        case count_generation, count_rows, count_sum, count_floor, mac
    }

    /// Returns the head to continue from.
    ///
    /// If the head was changed or removed, the result continues the entries that are there, and
    /// marks the log as broken.
    static func current(_ connection: Connection, _ sealer: Sealer) throws -> AuditHead {
        let (number, hash) =
            try connection.first("SELECT number, hash FROM audit ORDER BY number DESC LIMIT 1") {
                ($0.integer(0), $0.blob(1))
            } ?? (0, AuditHead().lastHash)
        let found = try read(connection, sealer)
        if let found, found.isAuthentic {
            var head = found.head
            guard number > head.lastNumber else { return head }
            // No head has ever recorded these entries.
            head.brokenNumber = min(head.brokenNumber ?? .max, head.lastNumber &+ 1)
            (head.lastNumber, head.lastHash) = (number, hash)
            return head
        }
        var head = AuditHead()
        (head.lastNumber, head.lastHash) = (number, hash)
        head.brokenNumber = number &+ 1
        // It knows no count, so that the rows that are there contradict it until a person accepts
        // them. A generation of 0 would have them counted as those of an earlier version.
        head.counts.generation = max(1, try CountRow.newest(connection, sealer))
        return head
    }

    /// Writes the head of a new log; entries without a head mark the log as broken.
    static func begin(_ connection: Connection, _ sealer: Sealer) throws {
        guard try read(connection, sealer) == nil else { return }
        let count = try connection.integer("SELECT count(*) FROM audit")
        let head = count == 0 ? AuditHead() : try current(connection, sealer)
        try head.write(connection, sealer)
    }

    func write(_ connection: Connection, _ sealer: Sealer) throws {
        try connection.run(
            """
            INSERT INTO audit_head (id, \(Column.list)) VALUES (1, \(Column.parameters))
            ON CONFLICT (id) DO UPDATE SET \(Column.replacements(besides: []))
            """,
            .integer(anchorNumber), .blob(anchorHash), .integer(lastNumber), .blob(lastHash),
            .integer(uploadedNumber), .integer(brokenNumber), .integer(counts.generation),
            .integer(counts.rows), .integer(counts.sum), .integer(counts.floor),
            .blob(mac(sealer)))
    }

    /// Returns the keyed hash over the head.
    func mac(_ sealer: Sealer) -> [UInt8] { sealer.authenticate(bytes) }

    private var bytes: [UInt8] {
        var row = RowIdentity("audit_head")
        row.append(anchorNumber)
        row.append(anchorHash)
        row.append(lastNumber)
        row.append(lastHash)
        row.append(uploadedNumber)
        row.append(brokenNumber == nil ? 0 : 1)
        row.append(brokenNumber ?? 0)
        // The head of an earlier version has no counts.
        if counts.generation > 0 {
            row.append(counts.generation)
            row.append(counts.rows)
            row.append(counts.sum)
            row.append(counts.floor)
        }
        return row.bytes
    }
}
