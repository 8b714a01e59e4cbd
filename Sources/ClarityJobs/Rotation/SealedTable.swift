import SQLite

/// What of a table is sealed or hashed under the master key, and for which row.
///
/// A table that keeps either must be among `all`: the change of the master key goes by it, and so do
/// the tests that damage every sealed value there is.
struct SealedTable: Sendable {
    /// A column of a row's identity.
    enum Part: Hashable, Sendable {
        case text(String)
        case integer(String)
        /// The column of the keyed hash itself.
        case tag
    }

    let name: String
    /// The column that names the table for which the value was sealed; `nil` for this one.
    var origin: String?
    /// What the row's identity is made of, in order.
    var identity: [Part] = []
    /// Which part is the row's name for people; `nil` for its number.
    var label: Int?
    /// Whether it has a column `sealed`; NULL there means that the value was removed.
    var isSealed = true
    /// The column with a keyed hash.
    var tag: String?

    /// Every table with something under the key, but for the audit log, which is chained, and for
    /// the canary and the former keys, which turn last.
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
        SealedTable(name: "metrics", identity: pulled("id"), label: 0, tag: "digest"),
        SealedTable(name: "insights", identity: pulled("id"), label: 0, tag: "digest"),
        SealedTable(
            name: "archive", origin: "origin", identity: pulled("row_id"), label: 0, tag: "digest"),
        SealedTable(name: "sources", identity: [.tag], tag: "tag"),
        SealedTable(name: "day_zone"),
        SealedTable(name: "readings", identity: [.integer("id")], tag: "tag"),
        SealedTable(name: "server_words", identity: [.integer("id")]),
        SealedTable(name: "minutes", identity: [.integer("day")]),
        SealedTable(name: "analyses", identity: [.integer("id"), .integer("last_day")]),
        SealedTable(name: "insight_requests", identity: [.integer("id"), .integer("analysis_id")]),
    ]

    static let formerKeys = SealedTable(
        name: "former_keys", identity: [.integer("generation"), .integer("copy")])

    private static func pulled(_ id: String) -> [Part] {
        [.text(id), .text("type"), .integer("timestamp_ms")]
    }

    /// A row with what is under the key in it.
    struct Entry {
        /// Its number in the table, by which rows are gone through.
        let number: Int64
        let sealed: [UInt8]?
        let tag: [UInt8]?
        fileprivate let title: String
        fileprivate let parts: [Value]
    }

    /// The rows after `number` in their order, at most `limit`.
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
            + (["\(origin ?? "NULL")"] + columns).joined(separator: ", ")
            + " FROM \(name) WHERE rowid > ? ORDER BY rowid LIMIT ?"
        return try connection.all(sql, .integer(number), .integer(Int64(limit))) { row in
            Entry(
                number: row.integer(0), sealed: row.isNull(1) ? nil : row.blob(1),
                tag: row.isNull(2) ? nil : row.blob(2),
                title: origin == nil ? name : row.text(3),
                parts: identity.enumerated().map { index, part in
                    let column = Int32(4 + index)
                    return switch part {
                    case .text: .text(row.text(column))
                    case .integer: .integer(row.integer(column))
                    case .tag: .blob(row.blob(column))
                    }
                })
        }
    }

    /// The identity for which the entry's value is sealed, with `tag` in the place of its own.
    func identity(of entry: Entry, tag: [UInt8]? = nil) -> RowIdentity {
        var label = String(entry.number)
        if let part = self.label, case .text(let text) = entry.parts[part] { label = text }
        var row = RowIdentity(entry.title, label: label)
        for (part, value) in zip(identity, entry.parts) {
            switch (part, value) {
            case (.tag, .blob(let own)): row.append(tag ?? own)
            case (_, .text(let text)): row.append(text)
            case (_, .integer(let number)): row.append(number)
            default: break
            }
        }
        return row
    }

    /// Puts an entry under the key that follows `former`'s.
    ///
    /// - Returns: `false` for one whose value does not open; it stays as damaged as it is.
    func reseal(
        _ entry: Entry, from former: Sealer, to next: Sealer, _ connection: Connection
    ) throws -> Bool {
        let newTag = entry.tag.map { next.tag(following: $0) }
        var isSound = true
        var sealed = entry.sealed
        if let old = entry.sealed {
            do throws(SealingError) {
                sealed = next.seal(
                    try former.open(old, for: identity(of: entry)),
                    for: identity(of: entry, tag: newTag))
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
        guard !settings.isEmpty else { return isSound }
        try connection.forEach(
            "UPDATE \(name) SET \(settings.joined(separator: ", ")) WHERE rowid = ?",
            values + [.integer(entry.number)]
        ) { _ in }
        return isSound
    }
}
