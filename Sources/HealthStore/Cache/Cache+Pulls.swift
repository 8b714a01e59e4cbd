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
