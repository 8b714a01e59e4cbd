import HealthModel
public import ClarityScheduler
package import Platform

/// A day on the clocks of a zone, in seconds since 1970-01-01T00:00:00Z.
package struct LocalDay: Hashable {
    /// The number of days from 1970-01-01 to its date.
    package var number: Int
    package var start: Int64
    /// The start of the next day; 23 or 25 hours later if the clocks change.
    package var end: Int64
}

/// Finds the day that contains an instant; fast for neighbours of the last one.
package struct LocalDays {
    package let zone: Zone
    @usableFromInline
    package private(set) var last = LocalDay(number: 0, start: 0, end: 0)
    private var starts: [Int: Int64] = [:]

    package init(zone: Zone) { self.zone = zone }

    @inlinable @inline(__always)
    package mutating func day(at seconds: Int64) -> LocalDay {
        if seconds < last.start || seconds >= last.end { last = find(seconds) }
        return last
    }

    /// Returns the day with a number.
    package mutating func day(_ number: Int) -> LocalDay {
        LocalDay(number: number, start: start(of: number), end: start(of: number + 1))
    }

    /// Returns what the zone's clocks show at an instant, in seconds since 1970-01-01T00:00:00.
    package func clock(at seconds: Int64) -> Int64 { LocalDays.clock(at: seconds, in: zone) }

    package static func clock(at seconds: Int64, in zone: Zone) -> Int64 {
        let offset = zone.offset(at: Instant(secondsSince1970: seconds))
        return seconds + offset.components.seconds
    }

    private mutating func find(_ seconds: Int64) -> LocalDay {
        var found = day(Int(LocalDays.quotient(clock(at: seconds), 86_400)))
        // If clocks are put back over midnight, the time that repeats the old date is in the new
        // day.
        if seconds < found.start { found = day(found.number - 1) }
        if seconds >= found.end { found = day(found.number + 1) }
        return found
    }

    /// Returns the first instant at which the clocks show the date, or have skipped to it.
    private mutating func start(of number: Int) -> Int64 {
        if let known = starts[number] { return known }
        // No export has a tenth of that; a start that is forgotten is found again.
        if starts.count > 100_000 { starts = [:] }
        let start = CivilDay(daysSince1970: number).start(in: zone).secondsSince1970
        starts[number] = start
        return start
    }

    /// Returns the quotient rounded towards negative infinity; `divisor` must be positive.
    package static func quotient(_ value: Int64, _ divisor: Int64) -> Int64 {
        let quotient = value / divisor
        return value % divisor < 0 ? quotient - 1 : quotient
    }
}

/// The time zones that sources can name, and this machine's own.
public struct SourceZones: Sendable {
    package let zones: SystemZones
    /// The zone that days follow if nobody names one.
    package var local: String
    /// The zone that the days of the account follow, once it is settled.
    package var settled: String?

    /// Reads the zones as the environment (`TZ`, `TZDIR`) and the machine define them.
    public init(environment: [String: String]) {
        zones = SystemZones(environment: environment)
        local = LocalZone.identifier(environment: environment)
    }

    /// Returns the time zone that the days of an account follow: the settled one, else the one that
    /// the job file names, else the one that an earlier release stored, else this machine's.
    ///
    /// - Parameter named: the zone that the job file names.
    public func dayZone(
        of store: HealthStore, named: String?
    ) throws(HealthStoreError) -> Zone {
        let kept = try store.outbox.dayZone()
        let settled = kept?.isSettled == true ? kept?.name : nil
        return [settled, named, kept?.name, local].lazy.compactMap { $0 }
            .compactMap { zones.zone(named: $0) }.first ?? .utc
    }
}
