import Database

/// The parts of a table that are encrypted or hashed with the master key, and the identity of its
/// rows.
///
/// Every table with such parts must be in `all`: the change of the master key relies on it, and so
/// do the tests that damage every encrypted value.
struct SealedTable: Sendable {
    /// A column of a row's identity.
    enum Part: Hashable, Sendable {
        case text(String)
        case integer(String)
        /// The column of the keyed hash itself.
        case tag
    }

    let name: String
    /// The column that names the table for which the value was encrypted; `nil` if it is this
    /// table.
    var origin: String?
    /// The parts of the row's identity, in order.
    var identity: [Part] = []
    /// The index of the part that names the row for people; `nil` to use the row's number.
    var label: Int?
    /// Whether the table has a column `sealed`. NULL there means that the value was removed.
    var isSealed = true
    /// The column with a keyed hash.
    var tag: String?
    /// The column that holds a `Sealer.hexTag` instead of a text. In `archive`, only a metric's
    /// version has one.
    var hexTag: String?

    /// Every table with something that depends on the key, except the audit log, which is chained,
    /// and the canary and the former keys, which change last.
    static let all: [SealedTable] = [
        SealedTable(name: "owner"),
        SealedTable(name: "session"),
        SealedTable(name: "session_record"),
        SealedTable(name: "login_tries", isSealed: false, tag: "tag"),
        SealedTable(name: "profile"),
        SealedTable(
            name: "outbox",
            identity: [.text("kind"), .integer("start_s"), .integer("end_s"), .tag],
            tag: "tag"),
        SealedTable(
            name: "metrics", identity: pulled("id"), label: 0, tag: "digest", hexTag: "id"),
        SealedTable(name: "insights", identity: pulled("id"), label: 0, tag: "digest"),
        SealedTable(
            name: "archive", origin: "origin", identity: pulled("row_id"), label: 0, tag: "digest",
            hexTag: "row_id"),
        SealedTable(name: "pulls", identity: [.text("name")], label: 0),
        SealedTable(name: "sources", identity: [.tag], tag: "tag", hexTag: "stamp"),
        SealedTable(name: "day_zone"),
        SealedTable(name: "readings", identity: [.integer("id")], tag: "tag"),
        SealedTable(name: "server_words", identity: [.integer("id")]),
        SealedTable(
            name: "contributions", identity: [.text("kind"), .integer("period"), .tag], tag: "tag"),
        SealedTable(name: "minutes", identity: [.integer("day")]),
        SealedTable(name: "analyses", identity: [.integer("id"), .integer("last_day")]),
        SealedTable(
            name: "segments",
            identity: [.text("type"), .integer("month"), .integer("generation")], label: 0),
        SealedTable(
            name: "segment_days", identity: [.text("type"), .integer("month")], label: 0),
        SealedTable(
            name: "packed_samples",
            identity: [.text("kind"), .integer("month"), .integer("generation")], label: 0),
        SealedTable(name: "packed_totals", identity: [.text("kind")], label: 0),
        SealedTable(name: "segment_marks", identity: [.tag], tag: "tag"),
        SealedTable(name: "insight_requests", identity: [.integer("id"), .integer("analysis_id")]),
    ]

    static let formerKeys = SealedTable(
        name: "former_keys", identity: [.integer("generation"), .integer("copy")])

    private static func pulled(_ id: String) -> [Part] {
        [.text(id), .text("type"), .integer("timestamp_ms")]
    }

    /// A row, with its parts that depend on the key.
    struct Entry {
        /// Its number in the table, by which the rows are ordered.
        let number: Int64
        let sealed: [UInt8]?
        let tag: [UInt8]?
        /// The content of the column `hexTag`; `nil` in a row that has none.
        fileprivate let hexTag: String?
        fileprivate let title: String
        fileprivate let parts: [Value]
    }

    /// Returns the rows after `number` in their order, at most `limit`.
    func entries(
        after number: Int64, limit: Int, _ connection: Connection
    ) throws -> [Entry] {
        let columns = identity.map { part in
            switch part {
            case .text(let name), .integer(let name): name
            case .tag: tag ?? "NULL"
            }
        }
        let sql =
            "SELECT rowid, \(isSealed ? "sealed" : "NULL"), \(tag ?? "NULL"), "
            + ([origin ?? "NULL", hexTag ?? "NULL"] + columns).joined(separator: ", ")
            + " FROM \(name) WHERE rowid > ? ORDER BY rowid LIMIT ?"
        return try connection.all(sql, .integer(number), .integer(Int64(limit))) { row in
            Entry(
                number: row.integer(0), sealed: row.isNull(1) ? nil : row.blob(1),
                tag: row.isNull(2) ? nil : row.blob(2),
                hexTag: hexTag == nil || (origin != nil && row.text(3) != "metrics")
                    ? nil : row.text(4),
                title: origin == nil ? name : row.text(3),
                parts: identity.enumerated().map { index, part in
                    let column = Int32(5 + index)
                    return switch part {
                    case .text: .text(row.text(column))
                    case .integer: .integer(row.integer(column))
                    case .tag: .blob(row.blob(column))
                    }
                })
        }
    }

    /// Returns the identity for which the entry's value is encrypted, with `tag` and `hexTag` in
    /// place of the entry's own.
    func identity(
        of entry: Entry, tag: [UInt8]? = nil, hexTag: String? = nil
    ) -> RowIdentity {
        var label = String(entry.number)
        if let part = self.label, case .text(let text) = entry.parts[part] { label = text }
        var row = RowIdentity(entry.title, label: label)
        for (part, value) in zip(identity, entry.parts) {
            switch (part, value) {
            case (.tag, .blob(let own)): row.append(tag ?? own)
            case (.text(let column), .text(let text)):
                row.append(column == self.hexTag ? hexTag ?? text : text)
            case (_, .integer(let number)): row.append(number)
            default: break
            }
        }
        return row
    }

    /// Encrypts an entry again with the next master key.
    ///
    /// - Returns: `false` if the value cannot be decrypted; the value then stays as it is.
    func reseal(
        _ entry: Entry, from former: Sealer, to next: Sealer, _ connection: Connection
    ) throws -> Bool {
        let newTag = entry.tag.map { next.tag(following: $0) }
        let newHexTag = entry.hexTag.map { next.hexTag(following: $0) ?? $0 }
        var isSound = true
        var sealed = entry.sealed
        if let old = entry.sealed {
            do throws(SealingError) {
                let plain = try former.open(old, for: identity(of: entry))
                sealed = next.seal(plain, for: identity(of: entry, tag: newTag, hexTag: newHexTag))
            } catch {
                isSound = false
            }
        }
        var settings: [String] = []
        var values: [Value] = []
        if isSealed {
            settings.append("sealed = ?")
            values.append(sealed.map { .blob($0) } ?? .null)
        }
        if let tag, let newTag {
            settings.append("\(tag) = ?")
            values.append(.blob(newTag))
        }
        if let hexTag, let newHexTag {
            settings.append("\(hexTag) = ?")
            values.append(.text(newHexTag))
        }
        guard !settings.isEmpty else { return isSound }
        try connection.run(
            "UPDATE \(name) SET \(settings.joined(separator: ", ")) WHERE rowid = ?",
            with: values + [.integer(entry.number)])
        return isSound
    }
}
