public import HealthModel
import Database
import Platform
import CSodium

/// Finds out which samples of a portion are in the outbox already.
///
/// An export is ordered by kind and time, and so is the index of the outbox. The rows that a
/// portion can meet therefore lie in one range per kind, which is read once. If the outbox has far
/// more rows in that range than the portion, as with a source without order, each sample is looked
/// up by itself.
///
/// The answer is only as current as the read. When the rows are written, the unique index decides,
/// and whether anything was packed since.
struct KnownSamples {
    /// The plain-text columns of a sample. The blind index is a keyed hash over all of them.
    private struct Key: Hashable {
        let kind: SampleKind
        let start: Int64
        let end: Int64
        let blindIndex: UInt64

        func hash(into hasher: inout Hasher) { hasher.combine(blindIndex) }
    }

    private struct Stretch {
        var start: Int64
        var end: Int64
        var count: Int

        mutating func add(_ instant: Int64) {
            start = min(start, instant)
            end = max(end, instant)
            count += 1
        }
    }

    private var keys: Set<Key> = []
    private let packed: PackedLookup
    /// The kinds that have too many rows to read at once.
    private var crowded: Set<SampleKind> = []

    /// Reads what the outbox has in the ranges of `rows`.
    init(
        _ rows: [OutboxPortion.Row], _ packed: PackedLookup, _ connection: Connection
    ) throws(DatabaseError) {
        self.packed = packed
        var stretches: [SampleKind: Stretch] = [:]
        for row in rows {
            stretches[row.kind, default: Stretch(start: row.start, end: row.start, count: 0)]
                .add(row.start)
        }
        keys.reserveCapacity(2 * rows.count)
        for (kind, stretch) in stretches { try look(for: kind, in: stretch, connection) }
    }

    /// Returns the most rows to read for a kind with `count` samples in the portion.
    static func limit(for count: Int) -> Int { max(1024, 2 * count) }

    private mutating func look(
        for kind: SampleKind, in stretch: Stretch, _ connection: Connection
    ) throws(DatabaseError) {
        let limit = KnownSamples.limit(for: stretch.count)
        var found: [Key] = []
        try connection.forEach(
            """
            SELECT start_s, end_s, tag FROM outbox
            WHERE kind = ? AND start_s BETWEEN ? AND ? LIMIT ?
            """,
            [
                .text(kind.rawValue), .integer(stretch.start), .integer(stretch.end),
                .integer(Int64(limit) + 1),
            ]
        ) { row in
            found.append(
                Key(
                    kind: kind, start: row.integer(0), end: row.integer(1),
                    blindIndex: OutboxPortion.Row.blindIndex(of: row, 2)))
        }
        if found.count > limit { crowded.insert(kind) } else { keys.formUnion(found) }
    }

    /// Adds a sample, and returns whether it is new: neither in the outbox nor packed nor earlier
    /// in the portion.
    mutating func isNew(_ row: inout OutboxPortion.Row, _ connection: Connection) throws -> Bool {
        let key = Key(kind: row.kind, start: row.start, end: row.end, blindIndex: row.blindIndex)
        guard keys.insert(key).inserted else { return false }
        if crowded.contains(row.kind), try isThere(row, connection) { return false }
        return try packed.isNew(&row)
    }

    private func isThere(_ row: OutboxPortion.Row, _ connection: Connection) throws -> Bool {
        try connection.withStatement(
            "SELECT 1 FROM outbox WHERE kind = ? AND start_s = ? AND end_s = ? AND tag = ?"
        ) { statement in
            try row.bind(to: statement) { try statement.run() }
        }
    }
}

/// The id of a sample at the backend: a UUID that depends only on the user and on the sample's
/// identity.
///
/// The sample gets the same id from next week's export, after a reinstallation and on another
/// machine, so that the backend recognises a repeated upload.
public struct MetricID: Hashable, Sendable, CustomStringConvertible {
    private let bytes: [UInt8]

    /// Derives the id: BLAKE2b-128 over user and identity, in the layout of RFC 9562, version 8.
    ///
    /// - Parameter userID: in upper or lower case, which makes no difference.
    public init(userID: String, sample: Sample) {
        self.init(MetricIDs(userID: userID), sample)
    }

    fileprivate init(_ ids: MetricIDs, _ sample: Sample) {
        var content = ids.prefix
        sample.appendIdentity(to: &content)
        var hash = [UInt8](repeating: 0, count: 16)
        crypto_generichash(&hash, hash.count, content, UInt64(content.count), nil, 0)
        hash[6] = hash[6] & 0x0F | 0x80
        hash[8] = hash[8] & 0x3F | 0x80
        bytes = hash
    }

    /// The UUID in lower case, with its four hyphens.
    public var description: String {
        String(unsafeUninitializedCapacity: 36) { text in
            var place = 0
            for (index, byte) in bytes.enumerated() {
                if index == 4 || index == 6 || index == 8 || index == 10 {
                    text[place] = UInt8(ascii: "-")
                    place += 1
                }
                (text[place], text[place + 1]) = byte.hexDigits
                place += 2
            }
            return place
        }
    }
}

/// The ids of one user's samples.
public struct MetricIDs: Sendable {
    fileprivate let prefix: [UInt8]

    /// - Parameter userID: in upper or lower case, which makes no difference.
    public init(userID: String) {
        var prefix: [UInt8] = []
        prefix.append(field: "clarity-jobs metric 1")
        prefix.append(field: userID.lowercased())
        self.prefix = prefix
    }

    /// Returns the id of a sample, as `MetricID` derives it.
    public func callAsFunction(_ sample: Sample) -> MetricID { MetricID(self, sample) }
}
