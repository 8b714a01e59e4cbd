@testable import HealthStore
import ClarityScheduler
import Testing

@testable import Reports

@Suite struct NightsTests {
    private let type = ArchivedType(name: "HKCategoryTypeIdentifierSleepAnalysis", months: [0])

    /// Returns a record of sleep from one minute of 1970 to another.
    private func record(
        _ stage: String, _ from: Int64, _ to: Int64, source: String = "watch"
    ) -> RecordRow {
        var row = RecordRow(type: type, at: from * 60)
        row.end = to * 60
        row.source = source
        row.value = "HKCategoryValueSleepAnalysis\(stage)"
        return row
    }

    private func nights(_ rows: RecordRow...) -> [Night] { Night.nights(of: rows, in: .utc) }

    @Test func `a pause of 90 minutes is part of a night, and a longer one ends it`() {
        let one = nights(record("AsleepCore", 100, 200), record("AsleepDeep", 290, 400))
        let two = nights(
            record("AsleepCore", 100, 200), record("AsleepDeep", 291, 400),
            record("AsleepREM", 400, 410))

        #expect(one.map(\.parts.count) == [2] && one[0].start == 6000 && one[0].end == 24_000)
        #expect(two.map(\.start) == [291 * 60])
    }

    @Test func `a long record covers the pause between shorter ones`() {
        let found = nights(
            record("AsleepCore", 0, 500), record("AsleepDeep", 10, 20),
            record("AsleepREM", 550, 560))

        #expect(found.map(\.parts.count) == [3])
    }

    @Test func `a night belongs to the day on which it ends`() {
        let found = nights(record("AsleepCore", 1380, 1860), record("AsleepCore", 2880, 3000))

        #expect(found.map(\.day) == [1, 2])
    }

    @Test func `the source with more stages is shown, and time in bed makes no night`() {
        let found = nights(
            record("Asleep", 0, 100, source: "phone"), record("InBed", 0, 120, source: "phone"),
            record("Awake", 5, 15), record("AsleepCore", 15, 95))

        #expect(found.map(\.parts.count) == [2] && found[0].asleep == 80)
        #expect(nights(record("InBed", 0, 120), record("AsleepCore", 30, 30)).isEmpty)
    }

    @Test func `usual times are the middle of all, on both sides of midnight`() throws {
        let day: Int64 = 1440
        let found = nights(
            record("AsleepCore", day - 60, day + 400),
            record("AsleepCore", 2 * day + 20, 2 * day + 420),
            record("AsleepCore", 3 * day - 10, 3 * day + 380))

        let regularity = try #require(Regularity(found, in: .utc))

        #expect(regularity.start == .init(at: -10, within: 30))
        #expect(regularity.end == .init(at: 400, within: 20))
        #expect(Regularity([], in: .utc) == nil)
    }
}
