public import ClarityScheduler
import Database

/// The progress of pulling one part.
public struct PullRecord: Hashable, Sendable {
    /// When a pull last had everything new; `nil` if none ever had.
    public var endedAt: Instant?
    /// When a pull last read everything, or `nil` if none has.
    ///
    /// It also becomes `nil` while a pull that found news has not yet seen where they end: the rows
    /// that it did not see may be anywhere.
    public var wholeAt: Instant?
    /// Where the pull that reads everything stopped; `nil` if none is in progress.
    public var place: String?

    /// Creates an empty record.
    public init() {}
}

/// A part that is pulled separately.
public enum PulledPart: String, CaseIterable, Sendable {
    case metrics
    case insights
    case profile
}

extension Cache {
    /// Records that a pull has ended.
    ///
    /// - Parameter isWhole: whether it read everything that the backend has.
    public func notePull(
        of part: PulledPart, isWhole: Bool, at now: Instant
    ) throws(HealthStoreError) {
        try store.run(
            """
            INSERT INTO pulls (name, ended_at_ms, whole_at_ms) VALUES (?1, ?2, ?3)
            ON CONFLICT (name) DO UPDATE SET ended_at_ms = ?2,
                whole_at_ms = coalesce(?3, pulls.whole_at_ms),
                sealed = CASE WHEN ?3 IS NULL THEN pulls.sealed END
            """, .text(part.rawValue), .instant(now), .instant(isWhole ? now : nil))
    }

    /// Replaces the stored record.
    public func storePullRecord(
        _ record: PullRecord, of part: PulledPart
    ) throws(HealthStoreError) {
        try store.run(
            """
            INSERT INTO pulls (name, ended_at_ms, whole_at_ms, sealed) VALUES (?, ?, ?, ?)
            ON CONFLICT (name) DO UPDATE SET ended_at_ms = excluded.ended_at_ms,
                whole_at_ms = excluded.whole_at_ms, sealed = excluded.sealed
            """, .text(part.rawValue), .instant(record.endedAt), .instant(record.wholeAt),
            encrypted(record.place, of: part))
    }

    /// Stores the position of a pull that reads everything; `nil` makes the next one begin anew.
    public func storePullPlace(
        _ place: String?, of part: PulledPart
    ) throws(HealthStoreError) {
        try store.run(
            """
            INSERT INTO pulls (name, sealed) VALUES (?1, ?2)
            ON CONFLICT (name) DO UPDATE SET sealed = ?2
            """, .text(part.rawValue), encrypted(place, of: part))
    }

    private func encrypted(_ place: String?, of part: PulledPart) -> Value {
        place.map { .blob(cipher.encrypt(Array($0.utf8), for: .pull(part.rawValue))) } ?? .null
    }

    /// Returns the progress of pulling a part.
    public func pullRecord(of part: PulledPart) throws(HealthStoreError) -> PullRecord {
        try store.access { connection in
            let record = try connection.first(
                "SELECT ended_at_ms, whole_at_ms, sealed FROM pulls WHERE name = ?",
                .text(part.rawValue)
            ) { row in
                var record = PullRecord()
                record.endedAt = row.optionalInstant(0)
                record.wholeAt = row.optionalInstant(1)
                // A damaged position counts as none, as NULL does: the pull begins anew.
                record.place = cipher.opened(row.blob(2), for: .pull(part.rawValue))
                    .map { String(decoding: $0, as: UTF8.self) }
                return record
            }
            return record ?? PullRecord()
        }
    }
}

extension RowIdentity {
    /// Returns the identity of the row of a part that is pulled.
    fileprivate static func pull(_ name: String) -> RowIdentity {
        RowIdentity("pulls", label: name, name)
    }
}

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
