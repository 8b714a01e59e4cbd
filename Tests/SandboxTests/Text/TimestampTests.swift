import Testing

@testable import clarity_jobs_sandbox

@Suite struct TimestampTests {
    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-11-20T06:00:00Z", 1_795_154_400_000),
        ("2026-11-20T06:00:00.25Z", 1_795_154_400_250),
        ("2026-11-20T06:00:00.123999Z", 1_795_154_400_123),
        ("2026-11-20T07:30:00+01:30", 1_795_154_400_000),
        ("2026-11-19T22:00:00.5-08:00", 1_795_154_400_500),
        ("2024-02-29T23:59:59Z", 1_709_251_199_000),
        ("1969-12-31T23:59:59.999Z", -1),
        ("0001-03-01T00:00:00Z", -62_130_499_200_000),
    ])
    func `dates with a zone are read`(_ text: String, _ milliseconds: Int64) {
        #expect(Timestamp(iso8601: text)?.milliseconds == milliseconds)
    }

    @Test(arguments: [
        "", "2026-11-20", "2026-11-20T06:00:00", "2026-11-20 06:00:00Z", "2026-11-20T06:00Z",
        "2026-02-29T06:00:00Z", "2026-13-01T06:00:00Z", "2026-00-10T06:00:00Z",
        "2026-11-00T06:00:00Z", "2026-11-31T06:00:00Z", "2026-11-20T24:00:00Z",
        "2026-11-20T06:60:00Z", "2026-11-20T06:00:60Z", "2026-11-20T06:00:00.Z",
        "2026-11-20T06:00:00.1", "2026-11-20T06:00:00+0100", "2026-11-20T06:00:00+24:00",
        "2026-11-20T06:00:00Zulu", "+026-11-20T06:00:00Z", "2026-11-20T06:00:00z",
        "٢٠٢٦-11-20T06:00:00Z",
    ])
    func `anything else is no date`(_ text: String) {
        #expect(Timestamp(iso8601: text) == nil)
    }

    @Test(
        arguments: [
            0, 1_795_154_400_000, 1_795_154_400_007, 951_782_400_000, -1, 253_402_300_799_999,
        ] as [Int64])
    func `a date that is written is read back`(_ milliseconds: Int64) {
        let text = Timestamp(milliseconds: milliseconds).description

        #expect(Timestamp(iso8601: text)?.milliseconds == milliseconds, "\(text)")
    }

    @Test func `fractions are written only where there are some`() {
        #expect(Timestamp(milliseconds: 1_000).description == "1970-01-01T00:00:01Z")
        #expect(Timestamp(milliseconds: 1_020).description == "1970-01-01T00:00:01.020Z")
    }

    @Test func `the hour of the day is UTC's, before 1970 too`() {
        #expect(Timestamp(milliseconds: 1_795_154_400_000).hour == 6)
        #expect(Timestamp(milliseconds: -1).hour == 23)
    }
}

@Suite struct SpanTests {
    @Test(arguments: [
        ("250ms", 250), ("0s", 0), ("30s", 30_000), ("15m", 900_000), ("6h", 21_600_000),
        ("3650d", 315_360_000_000),
    ])
    func `spans with a unit are read`(_ text: String, _ milliseconds: Int64) {
        #expect(Duration(span: text) == .milliseconds(milliseconds))
    }

    @Test(arguments: ["", "5", "h", "1.5h", "-1s", "1h30m", "3651d", "99999999999999999999s"])
    func `anything else is no span`(_ text: String) {
        #expect(Duration(span: text) == nil)
    }
}

@Suite struct IdentifierTests {
    @Test func `a UUID is of version 4 and of its variant`() {
        #expect(
            UUIDText.make([UInt8](repeating: 0xFF, count: 16))
                == "ffffffff-ffff-4fff-bfff-ffffffffffff")
        #expect(
            UUIDText.make([UInt8](repeating: 0, count: 16))
                == "00000000-0000-4000-8000-000000000000")
    }

    @Test func `a UUID is known in either case`() {
        #expect(
            UUIDText.canonical("AAAAAAAA-BBBB-4CCC-8DDD-00000000000F")
                == "aaaaaaaa-bbbb-4ccc-8ddd-00000000000f")
    }

    @Test(arguments: [
        "", "aaaaaaaabbbb4ccc8ddd00000000000f", "aaaaaaaa-bbbb-4ccc-8ddd-00000000000",
        "aaaaaaaa-bbbb-4ccc-8ddd-00000000000g", "{aaaaaaa-bbbb-4ccc-8ddd-00000000000f",
        "aaaaaaaa-bbbb-4ccc-8ddd-00000000000f-", "ａaaaaaaa-bbbb-4ccc-8ddd-0000000000",
    ])
    func `anything else is no UUID`(_ text: String) {
        #expect(UUIDText.canonical(text) == nil)
    }
}
