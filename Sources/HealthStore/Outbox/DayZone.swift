import HealthModel
import Database

/// The time zone that the days of an account follow, as it is stored.
public struct DayZone: Hashable, Sendable {
    /// Its name in the tz database.
    public var name: String
    /// Whether the days follow it. An earlier release stored the machine's zone, although the days
    /// of a source with a `time_zone` of its own did not follow it.
    public var isSettled: Bool
}

// All days of an account follow one time zone. A day cut in another time zone is another day, and
// the backend would have both.

extension Outbox {
    /// Returns the stored time zone; `nil` if there is none or the stored one is damaged.
    public func dayZone() throws(HealthStoreError) -> DayZone? {
        try store.access { connection in try storedDayZone(connection) }
    }

    /// Settles the time zone unless one is settled already. It stays settled until
    /// `changeDayZone(to:)` or until everything of the user is removed.
    ///
    /// - Returns: the name that is settled.
    public func settleDayZone(_ name: String) throws(HealthStoreError) -> String {
        try store.change { connection in
            if let kept = try storedDayZone(connection), kept.isSettled { return kept.name }
            try settle(name, connection)
            return name
        }
    }

    /// Settles another time zone. The next reading of a source merges all days again in it.
    public func changeDayZone(to name: String) throws(HealthStoreError) {
        try store.change { connection in
            try settle(name, connection)
            try mergeAllDaysAgain(connection)
        }
    }

    /// Returns the start and end of each day in the outbox that is as long as a day of a time zone,
    /// in seconds since 1970.
    public func wholeDays() throws(HealthStoreError) -> [Range<Int64>] {
        try store.access { connection in
            try connection.all(
                """
                SELECT start_s, end_s FROM outbox
                WHERE kind = ? AND as_of_s IS NOT NULL AND end_s - start_s BETWEEN ? AND ?
                """, .text(SampleKind.activity.rawValue),
                .integer(AggregateTime.dayLengths.lowerBound),
                .integer(AggregateTime.dayLengths.upperBound)
            ) { $0.integer(0)..<$0.integer(1) }
        }
    }

    private func storedDayZone(_ connection: Connection) throws -> DayZone? {
        guard let form = try connection.openedValue(of: "day_zone", sealer) else { return nil }
        let isSettled = form.first == Outbox.settledMark
        return DayZone(
            name: String(decoding: form.dropFirst(isSettled ? 1 : 0), as: UTF8.self),
            isSettled: isSettled)
    }

    private func settle(_ name: String, _ connection: Connection) throws {
        try connection.write([Outbox.settledMark] + Array(name.utf8), to: "day_zone", sealer)
    }

    /// The byte before the name of a settled zone; no name begins with it.
    private static let settledMark: UInt8 = 1
}
