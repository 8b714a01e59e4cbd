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
        _ connection: Connection, _ cipher: Cipher
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
            return (head, head.mac(cipher) == row.blob(Column.mac))
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
    static func current(_ connection: Connection, _ cipher: Cipher) throws -> AuditHead {
        let (number, hash) =
            try connection.first("SELECT number, hash FROM audit ORDER BY number DESC LIMIT 1") {
                ($0.integer(0), $0.blob(1))
            } ?? (0, AuditHead().lastHash)
        let found = try read(connection, cipher)
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
        head.counts.generation = max(1, try CountRow.newest(connection, cipher))
        return head
    }

    /// Writes the head of a new log; entries without a head mark the log as broken.
    static func begin(_ connection: Connection, _ cipher: Cipher) throws {
        guard try read(connection, cipher) == nil else { return }
        let count = try connection.integer("SELECT count(*) FROM audit")
        let head = count == 0 ? AuditHead() : try current(connection, cipher)
        try head.write(connection, cipher)
    }

    func write(_ connection: Connection, _ cipher: Cipher) throws {
        try connection.run(
            AuditHead.insertion, .integer(anchorNumber), .blob(anchorHash), .integer(lastNumber),
            .blob(lastHash),
            .integer(uploadedNumber), .integer(brokenNumber), .integer(counts.generation),
            .integer(counts.rows), .integer(counts.sum), .integer(counts.floor),
            .blob(mac(cipher)))
    }

    private static let insertion = """
        INSERT INTO audit_head (id, \(Column.list)) VALUES (1, \(Column.parameters))
        ON CONFLICT (id) DO UPDATE SET \(Column.replacements(besides: []))
        """

    /// Returns the keyed hash over the head.
    func mac(_ cipher: Cipher) -> [UInt8] { cipher.authenticate(bytes) }

    private var bytes: [UInt8] {
        var row = RowIdentity(
            "audit_head", anchorNumber, anchorHash, lastNumber, lastHash, uploadedNumber,
            Int64(brokenNumber == nil ? 0 : 1), brokenNumber ?? 0)
        // The head of an earlier version has no counts.
        if counts.generation > 0 {
            for number in [counts.generation, counts.rows, counts.sum, counts.floor] {
                row.append(number)
            }
        }
        return row.bytes
    }
}

/// The end of the audit log after the last change, noted outside the database.
///
/// The head in the database is authentic in every copy of the database, including older ones. This
/// note is written after each commit that adds entries, into a file that is in no backup. So a log
/// without the noted entry was cut. A process that is killed between commit and note leaves a log
/// that is longer than the note, which is no break.
struct AuditMark {
    /// The file with the note of a log on a server, in the state directory of each machine.
    static let serverFile = "audit.end"

    /// What contradicts a log.
    enum Finding: Hashable {
        /// There is no note, although the database expects one.
        case missing
        case changed
        /// The log ends before the noted entry; carries the number of the first missing entry.
        case cut(Int64)
        /// Another entry has the number of the noted one.
        case replaced(Int64)
        /// The head knows fewer writes of counts than were noted.
        case older
        /// The note of a machine is of a later era of a server's log, or was not made with the key.
        case other

        /// Returns the entry at which a log that ends with `last` is broken, and why.
        func place(after last: Int64) -> (number: Int64, reason: String) {
            switch self {
            case .missing: (last &+ 1, "the note of the log's end in `health.lock` is missing")
            case .changed: (last &+ 1, "the note of the log's end in `health.lock` was changed")
            case .cut(let number):
                (number, "it is missing: an older end of the log was put back")
            case .replaced(let number):
                (number, "it is not the entry that was written: another log was put here")
            case .older: (last &+ 1, AuditHead.olderReason)
            case .other:
                (
                    last &+ 1,
                    "the note of the log's end in `\(AuditMark.serverFile)` is of another state: an older "
                        + "one was put back"
                )
            }
        }
    }

    /// The content of the note's file.
    struct Note {
        /// The stored bytes; empty if there is no note.
        let content: [UInt8]
        /// Whether the database expects a note.
        let isExpected: Bool
        /// The finding if the bytes were not made with the key.
        var foreign = Finding.changed
    }

    private let number: Int64
    private let hash: [UInt8]
    /// `AuditHead.Counts.generation`; 0 in the note of an earlier version, which is shorter.
    private let generation: Int64

    init(_ head: AuditHead) {
        (number, hash) = (head.lastNumber, head.lastHash)
        generation = head.counts.generation
    }

    /// - Returns: `nil` for bytes that were not made with the key.
    private init?(_ content: [UInt8], _ cipher: Cipher) {
        var reader = ByteReader(content)
        guard let number = reader.number(Int64.self), let hash = reader.bytes(32) else {
            return nil
        }
        (self.number, self.hash) = (number, hash)
        generation = content.count > 72 ? reader.number(Int64.self) ?? 0 : 0
        guard content == self.content(cipher) else { return nil }
    }

    /// Returns the number, the hash, the generation, and a keyed hash over them.
    func content(_ cipher: Cipher) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: number)
        bytes += hash
        if generation > 0 { bytes.append(littleEndian: generation) }
        return bytes + cipher.authenticate(RowIdentity("audit_mark", bytes).bytes)
    }

    /// Compares a note with the log that has this head; returns `nil` if the log has the noted
    /// entry.
    ///
    /// Read the note before the head, or while no other process writes: another process may append
    /// entries at any time.
    static func finding(
        _ note: Note, _ head: AuditHead, _ connection: Connection, _ cipher: Cipher
    ) throws -> Finding? {
        if note.content.isEmpty { return note.isExpected ? .missing : nil }
        guard let mark = AuditMark(note.content, cipher) else { return note.foreign }
        if head.lastNumber < mark.number { return .cut(head.lastNumber &+ 1) }
        if head.counts.generation < mark.generation { return .older }
        if mark.number < head.anchorNumber { return nil }
        let hash =
            mark.number == head.anchorNumber
            ? head.anchorHash
            : try connection.blob("SELECT hash FROM audit WHERE number = ?", .integer(mark.number))
        return hash == mark.hash ? nil : .replaced(mark.number)
    }
}

extension AuditHead {
    static let olderReason =
        "the head of the log is older than the counts of the rows: an older head was put back"

    /// Records a finding in the head, so that it is not forgotten.
    mutating func take(_ finding: AuditMark.Finding?) {
        guard let finding else { return }
        brokenNumber = min(brokenNumber ?? .max, finding.place(after: lastNumber).number)
    }
}

/// How many rows of one type, month and state a table has, authenticated with the key.
struct CountRow: Hashable, Sendable {
    /// What is counted together.
    struct Key: Hashable, Sendable, Comparable {
        /// The table.
        let place: String
        let type: String
        var month: Int64 = 0
        var state = ""

        static func < (one: Key, other: Key) -> Bool {
            (one.place, one.type, one.month, one.state)
                < (other.place, other.type, other.month, other.state)
        }
    }

    let key: Key
    var number: Int64 = 0
    /// A sum over columns of the rows, by which other rows in their place are missed. Whoever
    /// chooses the rows with care can balance it.
    var weight: Int64 = 0
    /// Which write of a count wrote this one (`AuditHead.Counts`).
    var generation: Int64 = 0

    private enum Column: String, RowColumn {
        case place, type, month, state, number, weight, generation, mac
    }

    /// Returns every count, and whether this key made it.
    static func all(
        _ connection: Connection, _ cipher: Cipher
    ) throws -> [(row: CountRow, isAuthentic: Bool)] {
        try connection.all("SELECT \(Column.list) FROM counts") { found($0, cipher) }
    }

    /// Returns those of the counts of some keys that there are. It asks for each place and type once.
    static func find(
        _ keys: [Key], _ connection: Connection, _ cipher: Cipher
    ) throws -> [Key: (row: CountRow, isAuthentic: Bool)] {
        var counts: [Key: (row: CountRow, isAuthentic: Bool)] = [:]
        let groups = Dictionary(grouping: keys) { Key(place: $0.place, type: $0.type) }
        for (group, keys) in groups {
            let (months, wanted) = (keys.map(\.month), Set(keys))
            let rows = try connection.all(
                """
                SELECT \(Column.list) FROM counts
                WHERE place = ? AND type = ? AND month BETWEEN ? AND ?
                """, .text(group.place), .text(group.type), .integer(months.min() ?? 0),
                .integer(months.max() ?? 0)
            ) { row in
                wanted.contains(key(of: row)) ? found(row, cipher) : nil
            }
            for count in rows { counts[count.row.key] = count }
        }
        return counts
    }

    private static func key(of row: borrowing Row) -> Key {
        Key(
            place: row.text(Column.place), type: row.text(Column.type),
            month: row.integer(Column.month), state: row.text(Column.state))
    }

    private static func found(
        _ row: borrowing Row, _ cipher: Cipher
    ) -> (row: CountRow, isAuthentic: Bool) {
        let count = CountRow(
            key: key(of: row),
            number: row.integer(Column.number), weight: row.integer(Column.weight),
            generation: row.integer(Column.generation))
        return (count, count.mac(cipher) == row.blob(Column.mac))
    }

    /// Returns the generation of the count that was written last; 0 without any.
    static func newest(_ connection: Connection, _ cipher: Cipher) throws -> Int64 {
        try all(connection, cipher).filter(\.isAuthentic).map(\.row.generation).max() ?? 0
    }

    /// Writes the count in the place of the one that its key has.
    func write(_ connection: Connection, _ cipher: Cipher) throws {
        try connection.run(
            CountRow.insertion, .text(key.place), .text(key.type), .integer(key.month),
            .text(key.state), .integer(number), .integer(weight), .integer(generation),
            .blob(mac(cipher)))
    }

    private static let insertion = """
        INSERT INTO counts (\(Column.list)) VALUES (\(Column.parameters))
        ON CONFLICT (place, type, month, state)
            DO UPDATE SET \(Column.replacements(besides: [.place, .type, .month, .state]))
        """

    private func mac(_ cipher: Cipher) -> [UInt8] {
        cipher.authenticate(
            RowIdentity(
                "counts", key.place, key.type, key.month, key.state, number, weight, generation
            ).bytes)
    }
}
