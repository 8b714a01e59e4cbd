public import ClarityScheduler
import SQLite

/// A version of a pulled row that lost against a later one, without what is sealed.
public struct ArchivedVersion: Hashable, Sendable {
    /// By which it is named, counted up.
    public var number: Int64
    public var table: CachedTable
    /// The row's id, the same for all of its versions.
    public var id: String
    public var type: String
    /// The backend's time of this version.
    public var timestamp: Instant
    public var archivedAt: Instant
}

extension HealthStore {
    /// The archived versions, last archived first, at most `limit`.
    ///
    /// - Parameters:
    ///   - type: only those of this type; `nil` for all.
    ///   - since: only those that were archived then or later.
    public func archivedVersions(
        type: String? = nil, since: Instant? = nil, limit: Int
    ) throws(HealthStoreError) -> [ArchivedVersion] {
        try access { connection in
            try connection.all(
                """
                SELECT \(HealthStore.versionColumns) FROM archive
                WHERE archived_at_ms >= ? AND type = coalesce(?, type)
                ORDER BY archived_at_ms DESC, id DESC LIMIT ?
                """, .integer(since?.millisecondsSince1970 ?? .min),
                type.map { .text($0) } ?? .null, .integer(Int64(limit)), map: HealthStore.version
            ).compactMap { $0 }.map { found in
                // One that does not open is listed by what the file calls it.
                var version = found.version
                let (row, sealed) = (HealthStore.identity(of: version), found.sealed)
                if version.table == .metrics, sealer.opens(sealed, for: row),
                    let id = MetricForm.parts(of: try sealer.open(sealed, for: row)).id
                {
                    version.id = id
                }
                return version
            }
        }
    }

    /// An archived version with its JSON; `nil` for a number that there is not.
    ///
    /// - Throws: `sealing` when it does not open.
    public func archivedVersion(
        _ number: Int64
    ) throws(HealthStoreError) -> (version: ArchivedVersion, json: [UInt8])? {
        try access { connection in
            let found = try connection.first(
                "SELECT \(HealthStore.versionColumns) FROM archive WHERE id = ?",
                .integer(number), map: HealthStore.version)
            guard case .some(.some(let found)) = found else { return nil }
            var version = found.version
            let (id, rest) = MetricForm.parts(
                of: try sealer.open(found.sealed, for: HealthStore.identity(of: version)))
            if let id { version.id = id }
            return (version, MetricNumbers.json(of: rest))
        }
    }

    /// The identity of a version that has the id that the file has for it.
    private static func identity(of version: ArchivedVersion) -> RowIdentity {
        var identity = RowIdentity(version.table.rawValue, label: version.id)
        identity.append(version.id)
        identity.append(version.type)
        identity.append(version.timestamp.millisecondsSince1970)
        return identity
    }

    private static let versionColumns =
        "id, origin, row_id, type, timestamp_ms, archived_at_ms, sealed"

    private static func version(
        _ row: borrowing Row
    ) -> (version: ArchivedVersion, sealed: [UInt8])? {
        guard let table = CachedTable(rawValue: row.text(1)) else { return nil }
        let version = ArchivedVersion(
            number: row.integer(0), table: table, id: row.text(2), type: row.text(3),
            timestamp: Instant(millisecondsSince1970: row.integer(4)),
            archivedAt: Instant(millisecondsSince1970: row.integer(5)))
        return (version, row.blob(6))
    }
}
