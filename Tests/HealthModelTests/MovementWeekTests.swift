import ClarityScheduler
import Platform
import Testing

@testable import HealthModel

@Suite struct MovementWeekTests {
    private static let zones = SystemZones(environment: [:])

    private func week(
        _ days: [StepDay], now: Instant = Instant(secondsSince1970: 4_000_000_000)
    ) throws -> MovementWeek {
        try MovementWeek(days, now: now) { Self.zones.zone(named: $0) }
    }

    /// Makes a day with one step in each minute, unless `counts` says otherwise.
    private func day(
        _ date: String, _ zone: String = "Europe/London", known: Int = 1440,
        counts: [UInt32]? = nil
    ) throws -> StepDay {
        let midnight = try #require(Instant(rfc3339: "\(date)T00:00:00Z"))
        return StepDay(
            day: CivilDay(daysSince1970: Int(midnight.secondsSince1970 / 86_400)), zone: zone,
            counts: counts ?? [UInt32](repeating: 1, count: 1440), knownMinutes: known)
    }

    @Test(
        arguments: [
            // Ordinary days: at, west and east of Greenwich, the last with a half-hour offset.
            ("2026-01-15", "Europe/London", 1440, "2026-01-15T00:00:00Z", "2026-01-15T23:59:00Z"),
            (
                "2026-01-15", "America/New_York", 1440, "2026-01-15T05:00:00Z",
                "2026-01-16T04:59:00Z"
            ),
            ("2026-01-15", "Asia/Kolkata", 1440, "2026-01-14T18:30:00Z", "2026-01-15T18:29:00Z"),
            // The clock skips an hour, whose minutes do not exist.
            ("2026-03-29", "Europe/London", 1380, "2026-03-29T00:00:00Z", "2026-03-29T22:59:00Z"),
            // The clock repeats an hour, whose minutes count where they first occur.
            ("2026-10-25", "Europe/London", 1440, "2026-10-24T23:00:00Z", "2026-10-25T23:59:00Z"),
        ] as [(String, String, Int, String, String)])
    func `a minute stands where the clocks of its zone showed it`(
        date: String, zone: String, count: Int, first: String, last: String
    ) throws {
        let week = try week([day(date, zone)])

        #expect(week.known.count == count)
        #expect(week.known.first?.start == Instant(rfc3339: first))
        #expect(week.known.last?.start == Instant(rfc3339: last))
        #expect(Set(week.known.map(\.start)).count == count)
        #expect(week.known.map(\.start) == week.known.map(\.start).sorted())
    }

    @Test func `an hour that comes twice is followed by an hour without a minute`() throws {
        let starts = try week([day("2026-10-25")]).known.map(\.start)

        let gaps = zip(starts, starts.dropFirst()).map { $1 - $0 }.filter { $0 != .seconds(60) }
        #expect(gaps == [.seconds(3660)])
    }

    @Test func `minutes that nobody knows are left out`() throws {
        let week = try week([day("2026-01-15", known: 600), day("2026-01-17")])

        #expect(week.known.count == 600 + 1440)
        #expect(week.known[599].start == Instant(rfc3339: "2026-01-15T09:59:00Z"))
        #expect(week.known[600].start == Instant(rfc3339: "2026-01-17T00:00:00Z"))
    }

    @Test func `no minute is sent that is not over`() throws {
        let now = try #require(Instant(rfc3339: "2026-01-15T12:30:30Z"))

        let week = try week([day("2026-01-15")], now: now)

        #expect(week.known.count == 750)
        #expect(week.known.last?.start == Instant(rfc3339: "2026-01-15T12:29:00Z"))
    }

    @Test func `a minute with more steps than one can have is left out`() throws {
        var counts = [UInt32](repeating: 0, count: 1440)
        counts[5] = 1000
        counts[6] = 1001
        counts[7] = .max

        let week = try week([day("2026-01-15", counts: counts)])

        #expect(week.known.count == 1438)
        #expect(week.known[5].steps == 1000)
        #expect(week.known[6].start == Instant(rfc3339: "2026-01-15T00:08:00Z"))
    }

    @Test func `an instant that two days tell of comes once`() throws {
        // After a flight to the east, the next day begins before the first one has ended.
        let week = try week([
            day("2026-01-15", "UTC"),
            day("2026-01-16", "Asia/Tokyo", counts: [UInt32](repeating: 7, count: 1440)),
        ])

        #expect(week.known.count == 2 * 1440 - 9 * 60)
        #expect(Set(week.known.map(\.start)).count == week.known.count)
        #expect(week.known[1440 - 9 * 60].steps == 7)
    }

    @Test func `a zone that is not known is named`() throws {
        let day = try day("2026-01-15", "Atlantis/Nowhere")

        #expect(
            throws: Failure(
                .configuration, "the time zone `Atlantis/Nowhere` is not known to this machine")
        ) { try week([day]) }
    }

    @Test(arguments: [
        ("Europe/London", "2026-03-29T00:00:00Z"), ("Europe/Paris", "2026-03-28T23:00:00Z"),
        // The clock skips midnight itself.
        ("Africa/Cairo", "2026-03-28T22:00:00Z"),
    ])
    func `a date begins on the clocks of its zone`(zone: String, start: String) throws {
        let zone = try #require(Self.zones.zone(named: zone))

        #expect(try day("2026-03-29").day.start(in: zone) == Instant(rfc3339: start))
    }
}
