import ClarityScheduler
import Database
import ClarityTestSupport
import Testing

@testable import HealthStore
@testable import Platform

/// The sums of days beside the segments.
@Suite("Days of the archive", .onBothEngines)
struct DaySumsTests {
    private let folder = StateFolder()
    private let store: HealthStore
    private let zone: Zone

    init() throws {
        store = try folder.open()
        zone = try #require(SystemZones(environment: [:]).zone(named: "America/New_York"))
    }

    /// Half a year of a value every 7 hours and 13 minutes: two changes of the clock, ends of
    /// months.
    private static let seconds = (Int64(0)..<600).map { $0 * 26_000 - 90 * 86_400 }

    private func keep(_ seconds: some Sequence<Int64>, in zone: Zone?) throws {
        var collector = ArchiveCollector()
        for second in seconds { collector.add(second) }
        _ = try store.archive.keep(collector, of: nil, zone: zone)
    }

    private func days(in zone: Zone) throws -> [DaySum] {
        let type = try #require(try store.archive.types().first)
        return try store.archive.days(of: type, in: 0...100_000, zone).days
    }

    /// Adds up the records one by one, by the date that the zone's clocks show.
    private func expected(_ seconds: some Sequence<Int64>, in zone: Zone) -> [Int: DaySum] {
        var days: [Int: DaySum] = [:]
        for second in seconds {
            let start = noon.secondsSince1970 + second
            let offset = zone.offset(at: Instant(secondsSince1970: start)).components.seconds
            let day = Int((start + offset) / 86_400)
            var sum = days[day] ?? DaySum(day: day)
            let number = Double(60 + second % 40)
            sum.unit = "count/min"
            sum.count += 1
            sum.least = min(sum.least, number)
            sum.most = max(sum.most, number)
            sum.sum += number
            sum.seconds += 1
            days[day] = sum
        }
        return days
    }

    private var encrypted: Connection {
        get throws { try folder.connect() }
    }

    @Test func `day sums are what the records add up to, in whatever order they came`() throws {
        for portion in 0..<12 {
            try keep(Self.seconds[(portion * 50)..<(portion * 50 + 50)].shuffled(), in: zone)
        }

        let found = try days(in: zone)

        let expected = expected(Self.seconds, in: zone)
        #expect(found.count == expected.count && found.count > 150)
        #expect(found.map(\.day) == found.map(\.day).sorted())
        #expect(found.allSatisfy { expected[$0.day]?.agrees(with: $0) == true })
    }

    @Test func `day sums are known without opening a segment`() throws {
        try keep(Self.seconds, in: zone)
        let before = try days(in: zone)
        try encrypted.run("UPDATE segments SET sealed = x'00'")

        #expect(try days(in: zone) == before)
        #expect(try store.archive.stocks(in: zone).stocks.map(\.records) == [600])
        #expect(try days(in: .utc).isEmpty)
    }

    @Test(arguments: [
        "UPDATE segment_days SET sealed = x'00'", "DELETE FROM segment_days",
        "UPDATE segments SET generation = generation",
    ])
    func `without sound day sums of the zone, the segments are read`(
        _ change: String
    ) throws {
        try keep(Self.seconds, in: change.hasSuffix("= generation") ? .utc : zone)
        try encrypted.run(change)

        let found = try days(in: zone)

        let expected = expected(Self.seconds, in: zone)
        #expect(found.count == expected.count)
        #expect(found.allSatisfy { expected[$0.day]?.agrees(with: $0) == true })
    }

    @Test func `sums from before a month grew do not count`() throws {
        try keep(0..<10, in: zone)
        let old = try #require(
            try encrypted.first("SELECT sealed FROM segment_days") { $0.blob(0) })
        try keep(10..<30, in: zone)
        try encrypted.run("UPDATE segment_days SET sealed = ?", .blob(old))

        #expect(try days(in: zone).map(\.count) == [30])
    }

    @Test func `a damaged month has no sums that leave its records out`() throws {
        try keep(0..<10, in: zone)
        try encrypted.run("UPDATE segments SET sealed = x'00'")
        try keep(10..<13, in: zone)
        let type = try #require(try store.archive.types().first)

        let found = try store.archive.days(of: type, in: 0...100_000, zone)

        #expect(found.days.map(\.count) == [3] && found.damaged.count == 1)
    }

    @Test func `wrong sums are found and made anew`() throws {
        try keep(Self.seconds, in: zone)
        let month = try #require(
            try encrypted.first("SELECT type, month FROM segment_days LIMIT 1") {
                TypeMonth(type: $0.text(0), month: Int($0.integer(1)))
            })
        let right = try store.archive.records(of: month).sound
        var wrong = right
        wrong.records.removeLast()
        let compressor = try Compressor(level: 3)
        try store.change { connection in
            try store.archive.writeSums(
                of: wrong, month, generation: 1, zone, compressor, connection)
        }
        let before = try store.archive.prove(in: zone).damaged

        let repaired = try store.archive.repair(in: zone).sums

        #expect(before == ["the days of \(month) are wrong; `audit --repair` adds them up anew"])
        #expect(repaired == 1)
        #expect(try store.archive.prove(in: zone).damaged.isEmpty)
        #expect(try store.archive.repair(in: zone).sums == 0)
        #expect(try store.archive.repair(in: .utc).sums > 5)
    }

    @Test func `an import meanwhile neither looks like damage nor is left out of a repair`()
        async throws
    {
        try keep(0..<10, in: zone)
        let other = try folder.open()
        let zone = zone
        async let importing: Void = blocking {
            for portion in Int64(1)...150 {
                var collector = ArchiveCollector()
                for second in (portion * 10)..<(portion * 10 + 10) { collector.add(second) }
                _ = try other.archive.keep(collector, of: nil, zone: zone)
            }
        }
        let store = store
        let complaints = try await blocking {
            var complaints: Set<String> = []
            var stock: Int64 = 0
            while stock < 1510 {
                complaints.formUnion(try store.archive.prove(in: zone).damaged)
                _ = try store.archive.repair(in: zone)
                stock = try store.archive.stocks(in: zone).stocks.map(\.records).reduce(0, +)
            }
            return complaints
        }
        try await importing

        #expect(complaints == [])
        #expect(try store.archive.prove(in: zone).damaged == [])
        #expect(try days(in: zone).map(\.count) == [1510])
    }

    @Test func `words and units have days of their own`() throws {
        var collector = ArchiveCollector()
        let texts = ["Asleep", "Awake", "Asleep"].map {
            collector.texts.index(of: Array($0.utf8))
        }
        let origins = ["mg/dL", "mmol/L"].map {
            collector.texts.index(of: RecordOrigin(source: "s", unit: $0).bytes)
        }
        let type = collector.type("Mixed") ?? ArchiveCollector.otherType
        let values: [ArchivedRecord.Value] =
            texts.map { .text($0) } + [.number(mantissa: 95, decimals: 0)]
            + [.number(mantissa: 53, decimals: 1), .none]
        for (index, value) in values.enumerated() {
            let start = noon.secondsSince1970 + Int64(index) * 60
            collector.add(
                ArchivedRecord(
                    start: start, end: start + 60, created: nil, offsets: ClockOffsets(),
                    origin: origins[index == 4 ? 1 : 0], value: value), type: type)
        }
        _ = try store.archive.keep(collector, of: nil, zone: zone)

        let lines = try days(in: zone).map {
            "\($0.unit ?? "-") \($0.word ?? "-") \($0.count) \($0.sum) \($0.seconds)"
        }

        #expect(
            lines == [
                "mg/dL - 2 95.0 120", "mg/dL Asleep 2 0.0 120", "mg/dL Awake 1 0.0 60",
                "mmol/L - 1 5.3 60",
            ])
    }
}
