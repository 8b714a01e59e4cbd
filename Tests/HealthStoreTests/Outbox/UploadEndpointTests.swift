import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

@Suite struct UploadEndpointTests {
    /// Returns kinds in order, one for each letter of a row.
    static func kinds(_ letters: String) -> [SampleKind] {
        letters.map { letter in
            switch letter {
            case "h": .heartRate
            case "b": .bloodPressure
            case "s": .steps
            case "d": .distance
            default: .vo2Max
            }
        }
    }

    /// Makes rules by which steps and distances are one type and `v` is not accepted.
    private func rules(perType: Int?) -> UploadEndpoint {
        let types: [SampleKind: String] = [
            .heartRate: "heart_rate", .bloodPressure: "blood_pressure", .steps: "activity",
            .distance: "activity",
        ]
        return UploadEndpoint(
            route: .metrics, format: .metrics(types.mapValues { UploadField($0, .activity) }),
            samplesPerRequest: 10, perType: perType, requestBytes: 1 << 20, isIdempotent: true)
    }

    struct Row: CustomTestStringConvertible {
        var kinds: String
        var perType: Int?
        var limit = 10
        var chosen: [Int]
        var testDescription: String { "\(kinds) perType=\(perType ?? 0) limit=\(limit)" }
    }

    @Test(arguments: [
        Row(kinds: "", perType: nil, chosen: []),
        Row(kinds: "hhbs", perType: nil, chosen: [0, 1, 2, 3]),
        Row(kinds: "hhbs", perType: nil, limit: 3, chosen: [0, 1, 2]),
        Row(kinds: "hhbhs", perType: 1, chosen: [0, 2, 4]),
        Row(kinds: "hhbhs", perType: 2, chosen: [0, 1, 2, 4]),
        Row(kinds: "sdhds", perType: 1, chosen: [0, 2]),
        Row(kinds: "vhvb", perType: 1, chosen: [1, 3]),
        Row(kinds: "hhhhhhhhhhhh", perType: nil, limit: 99, chosen: Array(0..<10)),
    ])
    func `a batch takes the first samples that its limits allow`(row: Row) {
        let chosen = rules(perType: row.perType).choose(
            UploadEndpointTests.kinds(row.kinds), limit: row.limit)

        #expect(chosen == row.chosen)
    }

    @Test(arguments: [
        (1 << 20, 5, 5), (2048 + 3 * 768, 5, 3), (2048 + 3 * 768 - 1, 5, 2), (0, 5, 1), (0, 0, 0),
    ])
    func `a batch is surely no larger than a request`(bytes: Int, count: Int, prefix: Int) {
        #expect(testRules(bytes: bytes).prefix(of: heartRates(0..<count)) == prefix)
    }

    @Test func `a long name of a source counts with all that escaping may add`() {
        let samples = heartRates(0..<2, source: String(repeating: "\u{1}", count: 100))

        #expect(testRules(bytes: 2048 + 2 * (768 + 600)).prefix(of: samples) == 2)
        #expect(testRules(bytes: 2048 + 2 * (768 + 600) - 1).prefix(of: samples) == 1)
    }

    @Test func `a batch made by other rules fits only when these allow all of it`() {
        let two = heartRates(0..<2)

        #expect(testRules().fits(two, at: noon))
        #expect(!testRules(samples: 1).fits(two, at: noon))
        #expect(!testRules(perType: 1).fits(two, at: noon))
        #expect(!testRules(bytes: 2048 + 768).fits(two, at: noon))
        #expect(!testRules(without: [.heartRate]).fits(two, at: noon))
        #expect(!testRules(ranges: [.heartRate: 0...1]).fits(two, at: noon))
        #expect(testRules(perType: 1).fits(Array(two[..<1]), at: noon))
    }
}
