import ClarityScheduler
import Platform
import Testing

@testable import Reports

@Suite("Instants in a zone")
struct ZonedTextTests {
    @Test func `UTC has an offset like any other`() {
        let text = Zone.utc.text(Instant(millisecondsSince1970: 1_795_154_400_123))

        #expect(text == "2026-11-20T06:00:00.123+00:00")
    }

    @Test(arguments: [
        ("America/New_York", Int64(1_795_154_400), "2026-11-20T01:00:00-05:00"),
        ("Asia/Kathmandu", 1_795_154_400, "2026-11-20T11:45:00+05:45"),
        ("Europe/Berlin", -2_500_000_000, "1890-10-11T20:26:48+00:53:28"),
    ])
    func `a local time shows its offset, with seconds if it has some`(
        name: String, seconds: Int64, text: String
    ) throws {
        let zone = try #require(SystemZones(environment: [:]).zone(named: name))

        #expect(zone.text(Instant(secondsSince1970: seconds)) == text)
    }

    static let nearRows: [(Int64, String)] = [
        (0, "just now"), (59, "in 59 s"), (-59, "just now"), (60, "in 1 min"), (2280, "in 38 min"),
        (-720, "12 min ago"),
        (3600, "today 02:00"), (82_799, "today 23:59"), (82_800, "tomorrow 00:00"),
        (-7200, "yesterday 23:00"), (-93_600, "2026-11-18 23:00"), (169_200, "2026-11-22 00:00"),
    ]

    @Test(arguments: nearRows)
    func `a person sees near times by their distance, and others by the clock`(
        seconds: Int64, text: String
    ) throws {
        let now = Instant(secondsSince1970: 1_795_154_400)
        let times = NearTimes(zoneNamed: "America/New_York", environment: [:], now: now)

        #expect(times.text(now + .seconds(seconds)) == text)
    }

    @Test(arguments: [
        ("next: 2026-11-20T06:38:00Z", "next: in 38 min"),
        (
            "dropped at 2026-11-20T06:38:00.500Z, read at 2026-11-20T05:00:00Z",
            "dropped in 38 min, read today 00:00"
        ),
        ("held since 2026-11-20T05:48:00Z until now", "held since today 00:48 until now"),
        (
            "`clarity-jobs next --now 2026-11-20T06:38:00Z`",
            "`clarity-jobs next --now 2026-11-20T06:38:00Z`"
        ),
        (#"{"start":"2026-11-20T06:38:00Z"}"#, #"{"start":"2026-11-20T06:38:00Z"}"#),
        ("7  2026-11-20T05:48:00Z  read", "7  12 min ago  read"),
        ("2026-11-20T06:38:00+01:00, 2026", "2026-11-20T06:38:00+01:00, 2026"),
    ])
    func `a line has its instants as a person says them, and what is quoted stays`(
        line: String, shown: String
    ) {
        let now = Instant(secondsSince1970: 1_795_154_400)
        let times = NearTimes(zoneNamed: "America/New_York", environment: [:], now: now)

        #expect(times.replaced(in: line) == shown)
    }
}
