public import ClarityScheduler
import SQLite

/// How far pulling a part has come.
public struct PullRecord: Hashable, Sendable {
    /// When all that is new was here; `nil` when it never was.
    public var endedAt: Instant?
    /// When a pull last went through everything; `nil` when none has, and from when one that found
    /// news on until it has seen where they end: what it did not see may lie anywhere.
    public var wholeAt: Instant?
    /// Where one that goes through everything has stopped; `nil` when none is under way.
    public var place: String?

    /// Creates a record of nothing.
    public init() {}
}

/// What is pulled on its own.
public enum PulledPart: String, CaseIterable, Sendable {
    case metrics
    case insights
    case profile
}

extension HealthStore {
    /// Notes that a pull came to its end.
    ///
    /// - Parameter isWhole: whether it went through everything that the backend has.
    public func notePull(
        of part: PulledPart, isWhole: Bool, at now: Instant
    ) throws(HealthStoreError) {
        try change { connection in
            let time = Value.integer(now.millisecondsSince1970)
            try connection.run(
                """
                INSERT INTO pulls (name, ended_at_ms, whole_at_ms) VALUES (?1, ?2, ?3)
                ON CONFLICT (name) DO UPDATE SET ended_at_ms = ?2,
                    whole_at_ms = coalesce(?3, whole_at_ms),
                    sealed = CASE WHEN ?3 IS NULL THEN sealed END
                """, .text(part.rawValue), time, isWhole ? time : .null)
        }
    }

    /// Keeps a record in the place of what is known.
    public func keepPullRecord(
        _ record: PullRecord, of part: PulledPart
    ) throws(HealthStoreError) {
        func time(_ instant: Instant?) -> Value {
            instant.map { .integer($0.millisecondsSince1970) } ?? .null
        }
        try change { connection in
            try connection.run(
                """
                INSERT OR REPLACE INTO pulls (name, ended_at_ms, whole_at_ms, sealed)
                VALUES (?, ?, ?, ?)
                """, .text(part.rawValue), time(record.endedAt), time(record.wholeAt),
                sealed(record.place, of: part))
        }
    }

    /// Keeps where a pull that goes through everything has come to; `nil` begins anew.
    public func keepPullPlace(
        _ place: String?, of part: PulledPart
    ) throws(HealthStoreError) {
        try change { connection in
            try connection.run(
                """
                INSERT INTO pulls (name, sealed) VALUES (?1, ?2)
                ON CONFLICT (name) DO UPDATE SET sealed = ?2
                """, .text(part.rawValue), sealed(place, of: part))
        }
    }

    private func sealed(_ place: String?, of part: PulledPart) -> Value {
        place.map { .blob(sealer.seal(Array($0.utf8), for: .pull(part.rawValue))) } ?? .null
    }

    /// How far pulling a part has come.
    public func pullRecord(of part: PulledPart) throws(HealthStoreError) -> PullRecord {
        try access { connection in
            let found = try connection.first(
                "SELECT ended_at_ms, whole_at_ms, sealed FROM pulls WHERE name = ?",
                .text(part.rawValue)
            ) { row in
                var record = PullRecord()
                record.endedAt = row.optionalInteger(0).map { Instant(millisecondsSince1970: $0) }
                record.wholeAt = row.optionalInteger(1).map { Instant(millisecondsSince1970: $0) }
                return (record: record, sealed: row.isNull(2) ? nil : row.blob(2))
            }
            guard let found else { return PullRecord() }
            var record = found.record
            let row = RowIdentity.pull(part.rawValue)
            // A damaged place is none: the pull begins anew.
            if let sealed = found.sealed, sealer.opens(sealed, for: row) {
                record.place = String(decoding: try sealer.open(sealed, for: row), as: UTF8.self)
            }
            return record
        }
    }

    /// When a source was last read to its end, be it a file or one of many files; `nil` when none was.
    public func lastSourceReading() throws(HealthStoreError) -> Instant? {
        try access { connection in
            let found = try connection.first(
                """
                SELECT max(at_ms) FROM (
                    SELECT read_at_ms AS at_ms FROM sources
                    UNION ALL SELECT finished_at_ms FROM readings WHERE state = 'ended')
                """
            ) { $0.optionalInteger(0) }
            return found.flatMap { $0 }.map { Instant(millisecondsSince1970: $0) }
        }
    }
}
