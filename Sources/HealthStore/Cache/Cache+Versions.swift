public import ClarityScheduler
import Database

/// A version of a pulled row that a later one replaced, without its encrypted content.
public struct ArchivedVersion: Hashable, Sendable {
    /// The number that identifies the version; it counts up.
    public var number: Int64
    public var table: CachedTable
    /// The row's id, the same for all of its versions.
    public var id: String
    public var type: String
    /// The backend's time of this version.
    public var timestamp: Instant
    public var archivedAt: Instant
}

extension Cache {
    /// Returns the archived versions, last archived first, at most `limit`.
    ///
    /// - Parameters:
    ///   - type: returns only versions of this type; `nil` for all.
    ///   - since: returns only versions archived at this instant or later.
    public func versions(
        type: String? = nil, since: Instant? = nil, limit: Int
    ) throws(HealthStoreError) -> [ArchivedVersion] {
        try store.all(
            """
            SELECT \(Column.list) FROM archive
            WHERE archived_at_ms >= ? AND type = coalesce(?, type)
            ORDER BY archived_at_ms DESC, id DESC LIMIT ?
            """, .integer(since?.millisecondsSince1970 ?? .min),
            .text(type), .integer(Int64(limit)), map: Cache.decoded
        ).map { found in
            // A version that does not decrypt is listed under its stored name.
            var version = found.version
            if version.table == .metrics,
                let form = cipher.opened(found.encrypted, for: Cache.identity(of: version)),
                let id = MetricForm.parts(of: form).id
            {
                version.id = id
            }
            return version
        }
    }

    /// Returns an archived version with its JSON, or `nil` if the number does not exist.
    ///
    /// - Throws: `encryption` if it does not decrypt.
    public func version(
        _ number: Int64
    ) throws(HealthStoreError) -> (version: ArchivedVersion, json: [UInt8])? {
        try store.access { connection in
            let found = try connection.first(
                "SELECT \(Column.list) FROM archive WHERE id = ?",
                .integer(number), map: Cache.decoded)
            guard let found else { return nil }
            var version = found.version
            let (id, rest) = MetricForm.parts(
                of: try cipher.open(found.encrypted, for: Cache.identity(of: version)))
            if let id { version.id = id }
            return (version, MetricNumbers.json(of: rest))
        }
    }

    /// Returns the row identity of a version whose `id` is still the stored name.
    private static func identity(of version: ArchivedVersion) -> RowIdentity {
        .cached(version.table, version.id, type: version.type, at: version.timestamp)
    }

    private enum Column: String, RowColumn {
        case id, origin, row_id, type, timestamp_ms, archived_at_ms, encrypted = "sealed"
    }

    private static func decoded(
        _ row: borrowing Row
    ) -> (version: ArchivedVersion, encrypted: [UInt8])? {
        guard let table = CachedTable(rawValue: row.text(Column.origin)) else { return nil }
        let version = ArchivedVersion(
            number: row.integer(Column.id), table: table, id: row.text(Column.row_id),
            type: row.text(Column.type), timestamp: row.instant(Column.timestamp_ms),
            archivedAt: row.instant(Column.archived_at_ms))
        return (version, row.blob(Column.encrypted))
    }
}
