import SQLite

// On whose clock days are told apart where nobody says: always the same one, or a journey would cut
// every day anew and send all of them once more.

extension HealthStore {
    /// The name of the zone that was kept; `nil` when none was, or what was kept is damaged.
    public func dayZone() throws(HealthStoreError) -> String? {
        try access { connection in
            let found = try connection.first("SELECT sealed FROM day_zone") { $0.blob(0) }
            guard let sealed = found, sealer.opens(sealed, for: HealthStore.dayZoneRow) else {
                return nil
            }
            return String(
                decoding: try sealer.open(sealed, for: HealthStore.dayZoneRow), as: UTF8.self)
        }
    }

    /// Keeps the name of a zone, unless one is kept already, until everything of the user is removed.
    ///
    /// - Returns: the name that is kept.
    public func keepDayZone(_ name: String) throws(HealthStoreError) -> String {
        if let kept = try dayZone() { return kept }
        try change { connection in
            try connection.run(
                "INSERT OR REPLACE INTO day_zone (id, sealed) VALUES (1, ?)",
                .blob(sealer.seal(Array(name.utf8), for: HealthStore.dayZoneRow)))
        }
        return name
    }

    private static let dayZoneRow = RowIdentity("day_zone")
}
