import ClarityScheduler
import Database

/// The tagging keys of former master keys. Each is stored twice: if one were missing, no tag could
/// be computed and no sample would be recognised again.
enum FormerKeys {
    static let copies: ClosedRange<Int64> = 1...2

    struct Entry {
        let sealed: [UInt8]
        let row: RowIdentity
    }

    /// Returns the copies of each key, oldest key first.
    static func entries(_ connection: Connection) throws -> [[Entry]] {
        var keys: [[Entry]] = []
        var last: Int64 = 0
        for (generation, copy, sealed) in try connection.all(
            "SELECT generation, copy, sealed FROM former_keys ORDER BY generation, copy",
            map: { ($0.integer(0), $0.integer(1), $0.blob(2)) })
        {
            if generation != last { keys.append([]) }
            last = generation
            keys[keys.count - 1].append(Entry(sealed: sealed, row: row(generation, copy)))
        }
        return keys
    }

    /// Stores all former keys, encrypted with `next`, whose key follows one that was in use until
    /// `now`.
    static func write(
        _ keys: [[UInt8]], _ connection: Connection, _ next: Sealer, at now: Instant
    ) throws {
        for (index, key) in keys.enumerated() {
            let generation = Int64(index) + 1
            for copy in copies {
                // The time at which an earlier key was retired stays as it is.
                try connection.run(
                    """
                    INSERT INTO former_keys (generation, copy, sealed, retired_at_ms)
                    VALUES (?, ?, ?, ?)
                    ON CONFLICT (generation, copy) DO UPDATE SET sealed = excluded.sealed
                    """,
                    .integer(generation), .integer(copy),
                    .blob(next.seal(key, for: row(generation, copy))),
                    .instant(now))
            }
        }
    }

    private static func row(_ generation: Int64, _ copy: Int64) -> RowIdentity {
        var row = RowIdentity("former_keys", label: "\(generation)/\(copy)")
        row.append(generation)
        row.append(copy)
        return row
    }
}
