public import HealthModel
import Database

// The steps of the last weeks by minute, for movement analyses.

extension Analyses {
    /// The number of days that are stored, counted from the newest.
    static var stepDays: Int64 { 35 }

    /// Stores days, each encrypted for its date, and removes all but the newest 35.
    ///
    /// A stored day is replaced, unless the new one knows fewer minutes because its source was made
    /// earlier that day.
    public func keep(_ days: [StepDay]) throws(HealthStoreError) {
        guard !days.isEmpty else { return }
        try store.change { connection in
            for day in days {
                try connection.run(
                    """
                    INSERT INTO minutes (day, known_minutes, sealed) VALUES (?, ?, ?)
                    ON CONFLICT (day) DO UPDATE SET known_minutes = excluded.known_minutes,
                        sealed = excluded.sealed
                    WHERE excluded.known_minutes >= minutes.known_minutes
                    """, .integer(Int64(day.day.daysSince1970)), .integer(Int64(day.knownMinutes)),
                    .blob(cipher.encrypt(day.encryptedForm, for: Analyses.identity(of: day.day))))
            }
            try connection.run(
                """
                DELETE FROM minutes
                WHERE day NOT IN (SELECT day FROM minutes ORDER BY day DESC LIMIT ?)
                """, .integer(Analyses.stepDays))
        }
    }

    /// Returns the stored days in order.
    public func stepDays() throws(HealthStoreError) -> [CivilDay] {
        try store.all("SELECT day FROM minutes ORDER BY day") {
            CivilDay(daysSince1970: Int($0.integer(0)))
        }
    }

    /// Returns the newest day that is known to its end, or `nil`.
    public func newestWholeStepDay() throws(HealthStoreError) -> CivilDay? {
        try store.first(
            "SELECT max(day) FROM minutes WHERE known_minutes = ?",
            .integer(Int64(StepDay.minutes))
        ) { $0.optionalInteger(0).map { CivilDay(daysSince1970: Int($0)) } }
    }

    /// Returns the stored days of the seven that end with `last`, in order.
    ///
    /// - Throws: `encryption` if a day does not decrypt.
    public func stepDays(endingOn last: CivilDay) throws(HealthStoreError) -> [StepDay] {
        try store.access { connection in
            let rows = try connection.all(
                "SELECT day, sealed FROM minutes WHERE day BETWEEN ? AND ? ORDER BY day",
                .integer(Int64(last.daysSince1970) - 6), .integer(Int64(last.daysSince1970))
            ) { (day: CivilDay(daysSince1970: Int($0.integer(0))), encrypted: $0.blob(1)) }
            return try rows.map { day, encrypted in
                try cipher.open(encrypted, for: Analyses.identity(of: day)) {
                    StepDay(day, encryptedForm: $0)
                }
            }
        }
    }

    private static func identity(of day: CivilDay) -> RowIdentity {
        RowIdentity("minutes", number: Int64(day.daysSince1970))
    }
}

extension StepDay {
    /// The zone, the known minutes, and the counts; the date is a column of the row.
    fileprivate var encryptedForm: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(field: zone)
        bytes.append(littleEndian: UInt16(clamping: knownMinutes))
        for count in counts { bytes.append(littleEndian: count) }
        return bytes
    }

    fileprivate init?(_ day: CivilDay, encryptedForm: [UInt8]) {
        var reader = ByteReader(encryptedForm)
        guard let zone = reader.field(), let known = reader.number(UInt16.self) else { return nil }
        var counts: [UInt32] = []
        for _ in 0..<StepDay.minutes {
            guard let count = reader.number(UInt32.self) else { return nil }
            counts.append(count)
        }
        guard reader.isAtEnd else { return nil }
        self.init(day: day, zone: zone, counts: counts, knownMinutes: Int(known))
    }
}
