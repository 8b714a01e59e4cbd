import HealthStore
import HealthModel
import ClarityScheduler
import Testing

@Suite("Private values")
struct PrivateValueTests {
    private static let sample = Sample(
        kind: .heartRate, start: Instant(secondsSince1970: 1_700_000_000),
        end: Instant(secondsSince1970: 1_700_000_000), value: .single(123.456),
        source: "planted-source")

    private static let values: [any PrivateValue] = [
        sample, sample.value, Secret("planted-secret"),
        CachedRow(
            id: "planted-id", type: "heart_rate", timestamp: Instant(secondsSince1970: 0),
            json: Array("planted-json".utf8)),
        Session(
            userID: "planted-user", email: "planted@example.org",
            accessToken: Secret("planted-access"), refreshToken: Secret("planted-refresh"),
            expiresAt: Instant(secondsSince1970: 0)),
    ]

    @Test(arguments: values.indices)
    func `no way to a text shows what a private value holds`(index: Int) {
        let value = PrivateValueTests.values[index]
        struct Holder { var held: any PrivateValue }
        var dumped = ""

        dump(Holder(held: value), to: &dumped)
        let texts = [
            String(describing: value), String(reflecting: value), String(describing: [value]),
            String(describing: Optional(value) as Any), String(describing: Holder(held: value)),
            "\(["key": value])", dumped,
        ]

        for text in texts {
            #expect(text.contains("<redacted>"))
            #expect(!text.contains("planted"))
            #expect(!text.contains("123"))
        }
    }
}
