import ClarityScheduler
import Testing

struct InstantTests {
    @Test(arguments: [
        (-62_135_596_800_000, "0001-01-01T00:00:00Z"),
        (-1000, "1969-12-31T23:59:59Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (0, "1970-01-01T00:00:00Z"),
        (1_795_154_400_000, "2026-11-20T06:00:00Z"),
        (1_795_154_400_007, "2026-11-20T06:00:00.007Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ])
    func `an instant is written as RFC 3339 in UTC and read back`(
        milliseconds: Int64, text: String
    ) {
        let instant = Instant(millisecondsSince1970: milliseconds)

        let read = Instant(rfc3339: text)

        #expect(instant.description == text)
        #expect(read == instant)
    }

    @Test(arguments: [
        ("2026-11-20T06:00:00+00:00", 1_795_154_400_000),
        ("2026-11-20T07:30:00+01:30", 1_795_154_400_000),
        ("2026-11-20T00:59:00-05:01", 1_795_154_400_000),
        ("2026-11-20T06:00:00-00:00", 1_795_154_400_000),
        ("2026-11-21T05:59:00+23:59", 1_795_154_400_000),
        ("2026-11-20t06:00:00z", 1_795_154_400_000),
        ("2026-11-20 06:00:00Z", 1_795_154_400_000),
        ("2026-11-20T06:00:00.2Z", 1_795_154_400_200),
        ("2026-11-20T06:00:00.25+00:00", 1_795_154_400_250),
        ("2026-11-20T06:00:00.1239999999999999999999999Z", 1_795_154_400_123),
        ("2024-02-29T00:00:00Z", 1_709_164_800_000),
    ])
    func `every form of RFC 3339 is read`(text: String, milliseconds: Int64) {
        let read = Instant(rfc3339: text)

        #expect(read == Instant(millisecondsSince1970: milliseconds))
    }

    @Test(arguments: [
        "", "2026", "2026-11-20", "2026-11-20T06:00:00", "2026-11-20T06:00Z",
        "2026-11-20T06:00:00.Z", "2026-11-20T06:00:60Z", "2026-11-20T24:00:00Z",
        "2026-11-20T06:60:00Z", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-04-31T00:00:00Z",
        "2026-11-20T06:00:00+24:00", "2026-11-20T06:00:00+01:60", "2026-11-20T06:00:00+0100",
        "2026-11-20T06:00:00+1", "2026-11-20T06:00:00Zz", " 2026-11-20T06:00:00Z",
        "2026-11-20T06:00:00Z ", "+2026-11-20T06:00:00Z", "20261120T060000Z",
        "2026/11/20T06:00:00Z", "２０２６-11-20T06:00:00Z", "2026-11-20T06:00:00,5Z",
        "-001-11-20T06:00:00Z",
    ])
    func `a text that is not RFC 3339 is refused`(text: String) {
        let read = Instant(rfc3339: text)

        #expect(read == nil)
    }

    @Test func `whole seconds round down`() {
        let seconds = [-1001, -1000, -1, 0, 999, 1000].map {
            Instant(millisecondsSince1970: $0).secondsSince1970
        }

        #expect(seconds == [-2, -1, -1, 0, 0, 1])
        #expect(Instant(secondsSince1970: -2) == Instant(millisecondsSince1970: -2000))
    }

    @Test func `instants add, subtract and compare in milliseconds`() {
        let instant = Instant(millisecondsSince1970: 1000)

        #expect(instant + .microseconds(1999) == Instant(millisecondsSince1970: 1001))
        #expect(instant - .seconds(3) == Instant(millisecondsSince1970: -2000))
        #expect(instant - Instant(millisecondsSince1970: 1500) == .milliseconds(-500))
        #expect(Instant(millisecondsSince1970: -1) < Instant(millisecondsSince1970: 0))
    }

    @Test(arguments: [Int64.min, .min + 1, .max])
    func `an instant at the end of its range can be written`(milliseconds: Int64) {
        let text = Instant(millisecondsSince1970: milliseconds).description

        #expect(text.hasSuffix("Z"))
        #expect(text.hasPrefix(milliseconds < 0 ? "-292275055-05-1" : "292278994-08-17"))
    }
}
