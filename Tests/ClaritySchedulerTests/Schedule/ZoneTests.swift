import ClarityScheduler
import Testing

struct ZoneTests {
    @Test func `UTC has no offset and shows every time once`() {
        let instant = Instant(millisecondsSince1970: 1_795_154_400_123)

        let resolution = Zone.utc.resolve(CivilTime(2026, 11, 20, 6, 0, 0, 123))

        #expect(Zone.utc.identifier == "UTC")
        #expect(Zone.utc.offset(at: instant) == .zero)
        #expect(resolution == .once(instant))
    }

    @Test func `zones are equal when name and rules are`() throws {
        let zone = try TZifFile(footer: "EST5").zone()
        let same = try TZifFile(footer: "EST5").zone()
        let otherRules = try TZifFile(footer: "EST6").zone()
        let otherName = try Zone(identifier: "EST", tzif: TZifFile(footer: "EST5").bytes)

        #expect(zone == same)
        #expect(zone.hashValue == same.hashValue)
        #expect(zone != otherRules)
        #expect(zone != otherName)
    }

    @Test func `a time that is skipped and then shown by the next change is shown once`() throws {
        var file = TZifFile()
        // The clock goes forward by two hours at 01:00, and two hours later back by one.
        file.offsets = [0, 7200, 3600]
        file.transitions = [(3600, 1), (10_800, 2)]
        let zone = try file.zone()

        #expect(
            zone.resolve(CivilTime(1970, 1, 1, 2, 30))
                == .skipped(until: Instant(secondsSince1970: 3600)))
        #expect(
            zone.resolve(CivilTime(1970, 1, 1, 4, 30))
                == .twice(
                    earlier: Instant(secondsSince1970: 9000),
                    later: Instant(secondsSince1970: 12_600)))
        #expect(
            zone.resolve(CivilTime(1970, 1, 1, 5, 0))
                == .once(Instant(secondsSince1970: 14_400)))
    }
}

@Suite(.enabled(if: SystemZones.isInstalled))
struct InstalledZoneTests {
    @Test(arguments: [
        ("Europe/London", "2026-03-29T00:59:59.999Z", 0),
        ("Europe/London", "2026-03-29T01:00:00Z", 3600),
        ("Europe/London", "2026-10-25T00:59:59Z", 3600),
        ("Europe/London", "2026-10-25T01:00:00Z", 0),
        ("Europe/London", "2060-03-28T01:00:00Z", 3600),
        ("Europe/London", "1970-06-01T00:00:00Z", 3600),
        ("Europe/London", "1971-12-01T00:00:00Z", 0),
        ("Europe/London", "1800-01-01T00:00:00Z", -75),
        ("America/New_York", "2026-03-08T06:59:59Z", -18_000),
        ("America/New_York", "2026-03-08T07:00:00Z", -14_400),
        ("America/New_York", "1883-11-18T16:59:59Z", -17_762),
        ("Australia/Lord_Howe", "2026-04-04T14:59:59Z", 39_600),
        ("Australia/Lord_Howe", "2026-04-04T15:00:00Z", 37_800),
        ("Asia/Kolkata", "2026-07-01T00:00:00Z", 19_800),
        ("Asia/Kolkata", "1800-01-01T00:00:00Z", 21_208),
        ("Europe/Dublin", "2026-01-01T00:00:00Z", 0),
        ("Europe/Dublin", "2026-07-01T00:00:00Z", 3600),
        ("Europe/Dublin", "2090-07-01T00:00:00Z", 3600),
        ("Pacific/Apia", "2011-12-30T09:59:59Z", -36_000),
        ("Pacific/Apia", "2011-12-30T10:00:00Z", 50_400),
        ("Africa/Casablanca", "2026-03-01T00:00:00Z", 0),
    ])
    func `a zone has its offset`(identifier: String, text: String, seconds: Int) throws {
        let zone = try SystemZones.zone(identifier)

        let offset = try zone.offset(at: Instant(text))

        #expect(offset == .seconds(seconds))
    }

    @Test(arguments: [
        ("Europe/London", CivilTime(2026, 3, 29, 0, 59), "2026-03-29T00:59:00Z", nil),
        ("Europe/London", CivilTime(2026, 3, 29, 2, 0), "2026-03-29T01:00:00Z", nil),
        ("Europe/London", CivilTime(2026, 10, 25, 0, 59), "2026-10-24T23:59:00Z", nil),
        (
            "Europe/London", CivilTime(2026, 10, 25, 1, 0), "2026-10-25T00:00:00Z",
            "2026-10-25T01:00:00Z"
        ),
        (
            "Europe/London", CivilTime(2026, 10, 25, 1, 59, 59, 999), "2026-10-25T00:59:59.999Z",
            "2026-10-25T01:59:59.999Z"
        ),
        ("Europe/London", CivilTime(2026, 10, 25, 2, 0), "2026-10-25T02:00:00Z", nil),
        (
            "America/New_York", CivilTime(2026, 11, 1, 1, 30), "2026-11-01T05:30:00Z",
            "2026-11-01T06:30:00Z"
        ),
        (
            "Australia/Lord_Howe", CivilTime(2026, 4, 5, 1, 30), "2026-04-04T14:30:00Z",
            "2026-04-04T15:00:00Z"
        ),
        ("Australia/Lord_Howe", CivilTime(2026, 4, 5, 1, 29), "2026-04-04T14:29:00Z", nil),
        ("Asia/Kolkata", CivilTime(2026, 7, 1, 5, 30), "2026-07-01T00:00:00Z", nil),
        (
            "Europe/Dublin", CivilTime(2026, 10, 25, 1, 30), "2026-10-25T00:30:00Z",
            "2026-10-25T01:30:00Z"
        ),
        (
            "Pacific/Kwajalein", CivilTime(1969, 9, 30, 12, 0), "1969-09-30T01:00:00Z",
            "1969-10-01T00:00:00Z"
        ),
        ("Pacific/Apia", CivilTime(2011, 12, 29, 23, 59), "2011-12-30T09:59:00Z", nil),
        ("Pacific/Apia", CivilTime(2011, 12, 31, 0, 0), "2011-12-30T10:00:00Z", nil),
    ])
    func `a time is shown once or twice`(
        identifier: String, time: CivilTime, first: String, second: String?
    ) throws {
        let zone = try SystemZones.zone(identifier)

        let resolution = zone.resolve(time)

        let expected: Zone.Resolution =
            if let second {
                .twice(earlier: try Instant(first), later: try Instant(second))
            } else {
                .once(try Instant(first))
            }
        #expect(resolution == expected)
    }

    @Test(arguments: [
        ("Europe/London", CivilTime(2026, 3, 29, 1, 0), "2026-03-29T01:00:00Z"),
        ("Europe/London", CivilTime(2026, 3, 29, 1, 59, 59, 999), "2026-03-29T01:00:00Z"),
        ("America/New_York", CivilTime(2026, 3, 8, 2, 30), "2026-03-08T07:00:00Z"),
        ("Australia/Lord_Howe", CivilTime(2026, 10, 4, 2, 15), "2026-10-03T15:30:00Z"),
        ("Europe/Dublin", CivilTime(2026, 3, 29, 1, 30), "2026-03-29T01:00:00Z"),
        ("Pacific/Apia", CivilTime(2011, 12, 30, 0, 0), "2011-12-30T10:00:00Z"),
        ("Pacific/Apia", CivilTime(2011, 12, 30, 12, 0), "2011-12-30T10:00:00Z"),
    ])
    func `a time that the clock jumps over is skipped until the change`(
        identifier: String, time: CivilTime, change: String
    ) throws {
        let zone = try SystemZones.zone(identifier)

        let resolution = zone.resolve(time)

        #expect(try resolution == .skipped(until: Instant(change)))
    }
}
