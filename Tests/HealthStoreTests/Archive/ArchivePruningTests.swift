import ClarityScheduler
import Database
import Testing

@testable import HealthStore
@testable import Platform

@Suite("Pruning of the archive", .onBothEngines)
struct ArchivePruningTests {
    private let folder = StateFolder()
    private let store: HealthStore

    init() throws { store = try folder.open() }

    private static let day: Int64 = 86_400

    /// Records of three months, one of them more, of two types.
    private func collected(_ more: Int64 = 0) -> ArchiveCollector {
        var collector = ArchiveCollector()
        for month in Int64(-2)...0 {
            for second in 0..<(10 + (month == -2 ? more : 0)) {
                collector.add(month * 31 * Self.day + second)
                collector.add(month * 31 * Self.day + second, type: "StepCount")
            }
        }
        return collector
    }

    private func keep(_ collector: ArchiveCollector) throws -> Archive.Kept {
        try store.archive.keep(collector, of: "a", zone: .utc)
    }

    /// Prunes by a rule, and returns what went, oldest first.
    private func prune(_ rule: RecordRetention, limit: Int = 64) throws -> [PrunedMonth] {
        var removed: [PrunedMonth] = []
        while try store.archive.prune(
            rule, limit: limit,
            detail: {
                removed += $0
                return "test"
            })
        {}
        return removed
    }

    private func bytes() throws -> Int64 {
        try store.access { connection in
            try connection.integer(
                """
                SELECT (SELECT sum(length(sealed)) FROM segments)
                    + (SELECT sum(length(sealed)) FROM segment_days)
                """) ?? 0
        }
    }

    private func months(_ type: String = "HeartRate") throws -> Int {
        try store.archive.types().first { $0.name == type }?.months.count ?? 0
    }

    /// A cutoff shortly after the month that began this many months ago.
    private func cutoff(afterMonth month: Int) -> Instant {
        let now = TypeMonth.month(of: noon.secondsSince1970)
        return Instant(secondsSince1970: TypeMonth.start(of: now + month + 1))
    }

    @Test func `without a rule nothing goes`() throws {
        _ = try keep(collected())

        #expect(try prune(RecordRetention()).isEmpty)
        #expect(try store.archive.records().count == 30)
    }

    @Test func `months that ended before the cutoff go, with their sums`() throws {
        _ = try keep(collected())
        let last = cutoff(afterMonth: -2)

        let early = try prune(RecordRetention(cutoff: last - .milliseconds(1000)))
        let removed = try prune(RecordRetention(cutoff: last), limit: 1)

        #expect(early.isEmpty)
        #expect(removed.map(\.type) == ["HeartRate", "StepCount"])
        #expect(removed.allSatisfy { $0.records == 10 && $0.bytes > 0 })
        #expect(try store.archive.records().count == 20)
        #expect(
            try store.access { try $0.integer("SELECT count(*) FROM segment_days") ?? 0 } == 4)
        let proof = try store.archive.prove(in: .utc)
        #expect(proof.records == 40 && proof.damaged.isEmpty)
    }

    @Test func `the oldest months go until the rest fits, of the types that are meant`() throws {
        _ = try keep(collected())
        let all = try bytes()
        let rule = RecordRetention(mostBytes: all / 3, types: ["HeartRate"])

        let removed = try prune(rule)

        #expect(removed.map(\.shortName) == ["HeartRate"] && removed[0].start < noon)
        #expect(try months() == 2 && months("StepCount") == 3)
        #expect(try prune(rule).isEmpty)
    }

    @Test func `removed months stay away, and the reading says how many it left out`() throws {
        _ = try keep(collected())
        _ = try prune(RecordRetention(cutoff: cutoff(afterMonth: -2)))

        let again = try keep(collected())
        let more = try keep(collected(5))
        let other = try store.archive.keep(collected(), of: nil, zone: .utc)

        #expect(again.new == 0 && again.pruned == 20)
        #expect(more.new == 0 && more.pruned == 30)
        #expect(other.new == 0 && other.pruned == 20)
        #expect(try store.archive.records().count == 20)
    }

    @Test func `a rule that covers a removed month no longer lets it in again`() throws {
        _ = try keep(collected())
        let rule = RecordRetention(cutoff: cutoff(afterMonth: -2), types: ["HeartRate"])
        _ = try prune(rule)

        let same = try store.archive.readmit(rule)
        let none = try store.archive.readmit(RecordRetention())
        let kept = try keep(collected())

        #expect(same == 0 && none == 1)
        #expect(kept.new == 10 && kept.pruned == 0)
        #expect(try store.archive.records().count == 30)
    }

    @Test func `a larger limit lets in what a smaller one removed`() throws {
        _ = try keep(collected())
        let bound = try bytes() / 2
        _ = try prune(RecordRetention(mostBytes: bound))

        let same = try store.archive.readmit(RecordRetention(mostBytes: bound))
        let smaller = try store.archive.readmit(RecordRetention(mostBytes: bound - 1))
        let larger = try store.archive.readmit(RecordRetention(mostBytes: bound + 1))

        #expect(same == 0 && smaller == 0 && larger > 0)
    }

    @Test func `a damaged month goes too`() throws {
        _ = try keep(collected())
        try store.access { connection in
            try connection.run(
                "UPDATE segments SET sealed = x'00' WHERE id = (SELECT min(id) FROM segments)")
        }

        let removed = try prune(RecordRetention(cutoff: cutoff(afterMonth: -2)))

        #expect(removed.map(\.records).sorted() == [0, 10])
        #expect(try store.archive.prove(in: .utc).damaged.isEmpty)
    }

    @Test func `a segment of a removed month does not pass for one of the month that came back`()
        throws
    {
        _ = try keep(collected())
        let rule = RecordRetention(cutoff: cutoff(afterMonth: -2), types: ["HeartRate"])
        func newest() throws -> (generation: Int64, encrypted: [UInt8]) {
            try #require(
                try store.access { connection in
                    try connection.first(
                        """
                        SELECT generation, sealed FROM segments WHERE type = 'HeartRate'
                        ORDER BY month, generation DESC
                        """
                    ) { ($0.integer(0), $0.blob(1)) }
                })
        }
        var former: [(generation: Int64, encrypted: [UInt8])] = []
        // Twice, because the month may be removed and let in more than once.
        for _ in 0..<2 {
            former.append(try newest())
            _ = try prune(rule)
            #expect(try store.archive.readmit(RecordRetention()) == 1)
            #expect(try keep(collected()).new == 10)
        }
        let present = try newest()
        #expect(former.map(\.generation) == [1, 2] && present.generation == 3)

        for segment in former {
            try store.access { connection in
                try connection.run(
                    "UPDATE segments SET sealed = ? WHERE type = 'HeartRate' AND generation = 3",
                    .blob(segment.encrypted))
            }

            #expect(try store.archive.prove(in: .utc).damaged.count == 1)
        }
    }
}
