import Testing

@testable import clarity_jobs_sandbox

@Suite struct TimestampFormsTests {
    @Test(arguments: [
        (1_800_000_000_000, "2027-01-15T08:00:00"),
        (1_800_000_000_487, "2027-01-15T08:00:00.487000"),
    ])
    func `an instant is written with six digits or none`(_ milliseconds: Int64, _ text: String) {
        let time = Timestamp(milliseconds: milliseconds)

        #expect(time.offsetText == text + "+00:00")
        #expect(time.zuluText == text + "Z")
    }

    @Test(
        arguments: [
            ("2027-01-15T08:00:00Z", 1_800_000_000_000), ("2027-01-15T08:00:00", 1_800_000_000_000),
            ("2027-01-15 08:00", 1_800_000_000_000),
            ("2027-01-15T09:00:00+0100", 1_800_000_000_000),
            ("2027-01-15T09:00:00.5+01:00", 1_800_000_000_500), ("2027-01-15", 1_799_971_200_000),
            ("1800000000", 1_800_000_000_000), ("1800000000000", 1_800_000_000_000),
            ("2027-13-15", nil), ("2027-01-15T08", nil), ("", nil), ("x", nil), ("nan", nil),
            ("1e300", nil), ("2027-01-15T08:00:00Zé", nil), ("2027-01-15T08:00:00+1", nil),
            ("0x7fffffffffffffff", nil),
        ] as [(String, Int64?)])
    func `a date is read in each of its forms`(_ text: String, _ milliseconds: Int64?) {
        #expect(Timestamp(lax: text)?.milliseconds == milliseconds)
    }

    @Test(arguments: [
        ("AAAAAAAA-bbbb-4ccc-8ddd-000000000001", true),
        ("aaaaaaaabbbb4ccc8ddd000000000001", true),
        ("{aaaaaaaa-bbbb-4ccc-8ddd-000000000001}", true),
        ("urn:uuid:aaaaaaaa-bbbb-4ccc-8ddd-000000000001", true), ("{}", false), ("", false),
        ("aaaaaaaa-bbbb-4ccc-8ddd", false),
    ])
    func `a UUID is read in each of its forms`(_ text: String, _ isUUID: Bool) {
        #expect(
            UUIDText.lax(text) == (isUUID ? "aaaaaaaa-bbbb-4ccc-8ddd-000000000001" : nil))
    }

    @Test(
        arguments: [
            ("e30=", "{}"), ("e30", "{}"), ("", ""), ("_-8", "\u{FFFD}\u{FFFD}"), ("e", nil),
            ("!", nil),
        ] as [(String, String?)])
    func `base 64 is read in both alphabets`(_ text: String, _ decoded: String?) {
        #expect(Base64.decode(text).map { String(decoding: $0, as: UTF8.self) } == decoded)
    }
}
