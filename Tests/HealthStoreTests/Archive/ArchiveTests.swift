@testable import ClarityScheduler
import Database
import Testing

@testable import HealthStore
@testable import Platform

@Suite("The archive", .onBothEngines)
struct ArchiveTests {
    private let folder = StateFolder()
    private let store: HealthStore

    init() throws { store = try folder.open() }

    private func keep(_ collector: ArchiveCollector, of source: String? = "a") throws
        -> Archive.Kept
    {
        try store.archive.keep(collector, of: source, zone: .utc)
    }

    @Test func `records are kept with everything that they say`() throws {
        let kept = try keep(archived(0..<3))

        #expect(kept.records == 3 && kept.new == 3 && kept.segments == 1)
        let records = try store.archive.records()
        #expect(try store.archive.seconds() == [0, 1, 2])
        #expect(records.allSatisfy { $0.0.created == $0.0.start + 2 && $0.0.offsets.end == 60 })
        #expect(records.map(\.0.value) == (60...62).map { .number(mantissa: $0, decimals: 0) })
        #expect(
            records[0].1
                == RecordOrigin(source: "Invented watch", version: "5.1", unit: "count/min"))
    }

    @Test func `what comes again, in any order and with other clocks, is known`() throws {
        _ = try keep(archived(0..<500))
        let before = try generations()
        var again = ArchiveCollector()
        for second in (Int64(0)..<500).shuffled() { again.add(second, offset: -300) }

        let kept = try keep(again)

        #expect(kept.records == 500 && kept.new == 0 && kept.segments == 0)
        #expect(try generations() == before && before == [1])
        #expect(try store.archive.records().allSatisfy { $0.0.offsets.start == 60 })
    }

    @Test func `only what is new is added, and nothing that is missing is removed`() throws {
        _ = try keep(archived(0..<10))

        let more = try keep(archived(5..<12))
        let fewer = try keep(archived(3..<4))

        #expect(more.new == 2 && fewer.new == 0)
        #expect(try store.archive.seconds() == Array(0..<12))
        #expect(try generations() == [2])
    }

    @Test func `a record counts as often as its source has it, and once for two sources`() throws {
        var twice = archived(0..<2)
        twice.add(1)
        let first = try keep(twice)

        let again = try keep(twice)
        let other = try keep(archived(0..<3), of: "b")

        #expect(first.new == 3 && again.new == 0 && other.new == 1)
        #expect(try store.archive.seconds() == [0, 1, 1, 2])
        twice.add(1)
        #expect(try keep(twice).new == 1)
        #expect(try store.archive.seconds() == [0, 1, 1, 1, 2])
    }

    @Test func `a record that a source has twice is not taken for another that it has twice`()
        throws
    {
        func twice(_ value: Int64) -> ArchiveCollector {
            var collector = archived(0..<1, value: value)
            collector.add(0, value: value)
            return collector
        }
        _ = try keep(twice(70))

        let other = try keep(twice(71))

        #expect(other.new == 2)
        #expect(try store.archive.records().count == 4)
    }

    @Test func `a source that has less than another is known the second time`() throws {
        _ = try keep(archived(0..<9))
        _ = try keep(archived(0..<2), of: "b")

        #expect(try keep(archived(0..<2), of: "b").segments == 0)
        #expect(try keep(archived(0..<9)).segments == 0)
        #expect(try generations() == [1])
    }

    @Test func `a little that comes often makes few segments of its own`() throws {
        for hour in Int64(0)..<40 { _ = try keep(archived(0..<(1000 + hour)), of: nil) }

        #expect(try store.archive.seconds() == Array(0..<1039))
        let generations = try generations()
        #expect(generations.count <= 8 && Set(generations).count == generations.count)
        #expect(generations.max() == 40)
    }

    @Test func `months and types are apart`() throws {
        var collector = archived(0..<2)
        collector.add(40 * 86_400)
        collector.add(-30 * 365 * 86_400)
        collector.add(0, type: "StepCount")

        _ = try keep(collector)

        let types = try store.archive.types()
        #expect(types.map(\.name) == ["HeartRate", "StepCount"])
        #expect(types[0].months.count == 3 && types[1].months.count == 1)
        #expect(try store.archive.records().count == 4)
    }

    @Test func `records that were compressed on the way are the same`() throws {
        let kept = try keep(archived(0..<2000, mostOpen: 300))

        #expect(kept.new == 2000)
        #expect(try store.archive.seconds() == Array(0..<2000))
        #expect(try keep(archived(0..<2000)).new == 0)
    }

    @Test func `records with an id each are the same after their texts were given up`() throws {
        var collector = ArchiveCollector()
        for second in Int64(0)..<20_000 {
            let padding = String(repeating: "x", count: 500)
            collector.add(second, source: "\(padding) \(second)")
        }

        #expect(collector.epoch > 0 && collector.texts.size < 1 << 23)
        _ = try keep(collector)
        let records = try store.archive.records()
        #expect(
            records.map { $0.1.source?.split(separator: " ").last } == (0..<20_000).map { "\($0)" })
    }

    @Test func `types beyond the thousandth are told apart by their origin`() throws {
        var collector = ArchiveCollector()

        let numbers = (0..<1100).map { collector.type("T\($0)") }

        #expect(numbers.prefix(1023).allSatisfy { $0 != nil } && numbers.last == .some(nil))
    }

    @Test(.onFilesAlone) func `a damaged month is named, and the others stay readable`() throws {
        var collector = archived(0..<3)
        collector.add(40 * 86_400)
        _ = try keep(collector)
        let connection = try FileConnection(path: "\(folder.path)/health.db", access: .readWrite)
        try connection.run(
            """
            UPDATE segments
            SET sealed = CAST(substr(sealed, 1, 99) || x'00' || substr(sealed, 101) AS BLOB)
            WHERE id = 1
            """)

        let proof = try store.archive.prove(in: .utc)

        #expect(proof.records == 1 && proof.damaged.count == 1)
        collector.add(3)
        collector.add(41 * 86_400)
        let kept = try keep(collector)
        // What the damaged segment had comes again from the source, and nothing new is lost.
        #expect(kept.damaged == proof.damaged && kept.new == 5)
        #expect(try store.archive.prove(in: .utc).records == 6)
        #expect(try store.archive.prove(in: .utc).damaged == proof.damaged)
        #expect(try store.archive.seconds().prefix(4) == [0, 1, 2, 3])
        #expect(proof.damaged[0].hasPrefix("records of HeartRate in 20"))
    }

    @Test(.onFilesAlone) func `an older content of a month is not taken for the present one`()
        throws
    {
        _ = try keep(archived(0..<3))
        let connection = try FileConnection(path: "\(folder.path)/health.db", access: .readWrite)
        let old = try #require(try connection.first("SELECT sealed FROM segments") { $0.blob(0) })
        _ = try keep(archived(0..<9))
        try connection.run("UPDATE segments SET sealed = ?", .blob(old))

        #expect(try store.archive.prove(in: .utc).damaged.count == 1)
    }

    @Test(.onFilesAlone) func `a change of the master key leaves every record known`() throws {
        let filled = try FilledStore()
        _ = try KeyRotation(
            stateDirectory: filled.folder.path, environment: [:], to: .made, actor: AuditActor(),
            clock: FixedClock(noon)
        ).run()
        let store = try filled.folder.open()

        let kept = try store.archive.keep(archived(0..<5), of: filled.source, zone: .utc)

        #expect(kept.records == 5 && kept.segments == 0)
        #expect(try store.archive.seconds() == Array(0..<5))
    }

    @Test func `the size of a month is one of the archive's size classes`() throws {
        for count in [Int64(1), 30, 3000] { _ = try keep(archived(0..<count)) }

        let sizes = try store.access { connection in
            try connection.all("SELECT length(sealed) FROM segments") { $0.integer(0) }
        }

        #expect(
            sizes.allSatisfy { size in
                let padded = Int(size) - Cipher.overhead
                let classes = Padding.sizes(of: [], in: "segments")
                return padded >= 1024 && Padding.size(of: padded - 1, in: classes) == padded
            })
    }

    private func generations() throws -> [Int64] {
        try store.access { connection in
            try connection.all("SELECT generation FROM segments ORDER BY id") { $0.integer(0) }
        }
    }
}
