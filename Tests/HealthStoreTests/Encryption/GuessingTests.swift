import Database
import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

/// Tests an attacker who has the state directory, the source code and the account's id, but not the
/// key.
@Suite("What a guess finds") struct GuessingTests {
    @Test(arguments: SampleKind.allCases)
    func `two values of a kind leave files that cannot be told apart`(kind: SampleKind) throws {
        let (first, second) = GuessedState.values(of: kind)

        let differences = try GuessedState.differences { isFirst, store in
            _ = try store.outbox.enqueue([isFirst ? first : second])
        }

        #expect(differences == [])
    }

    @Test(arguments: GuessedState.Part.allCases)
    func `two contents leave files that cannot be told apart`(part: GuessedState.Part) throws {
        let differences = try GuessedState.differences { isFirst, store in
            try part.write(isFirst, into: store)
        }

        #expect(differences == [])
    }

    @Test func `months with as many records have one size, whatever their values are`() throws {
        let state = try GuessedState(firstKey)
        var collector = ArchiveCollector()
        var number: UInt64 = 1
        let types = (0..<40).map { "Invented\($0)" }
        for type in types {
            for second in Int64(0)..<2000 {
                number = number &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                collector.add(second, type: type, value: Int64(number >> 33) % 1000)
            }
        }

        _ = try state.store.archive.keep(collector, of: "/a", zone: .utc)

        let sizes = try state.store.access { connection in
            try connection.all("SELECT length(sealed) FROM segments") { $0.integer(0) }
        }
        // Their compressed lengths differ, and may lie on both sides of a class's end.
        #expect(sizes.count == types.count && Set(sizes).count <= 2, "\(Set(sizes).sorted())")
    }

    @Test func `the length of a value of the archive tells 5 bits at most, and costs a half`() {
        let classes = Padding.sizes(of: [], in: "segments")
        var sizes: [Int] = []
        var costs: [Double] = []

        for count in 1..<1 << 20 {
            let size = Padding.size(of: count, in: classes)
            if size != sizes.last { sizes.append(size) }
            costs.append(Double(size - count) / Double(max(count, 1024)))
        }

        // In ascending order, so that none comes twice.
        #expect(sizes == sizes.sorted() && sizes.count <= 1 << 5, "\(sizes.count) sizes")
        #expect(costs.allSatisfy { $0 > 0 && $0 <= 1.0 } && (costs[1024...].max() ?? 1) <= 0.5)
    }

    @Test func `no unkeyed hash of a sample is in the files`() throws {
        let state = try GuessedState(firstKey)
        let samples = SampleKind.allCases.map { GuessedState.values(of: $0).0 }
        let ids = MetricIDs(userID: GuessedState.user)
        _ = try state.store.outbox.enqueue(samples)
        for version in [0, 60] as [Int64] {
            let rows = samples.map {
                CachedRow(
                    id: ids($0).description, type: $0.kind.rawValue,
                    timestamp: $0.start + .seconds(version), json: Array("{}".utf8))
            }
            _ = try state.store.cache.upsert(rows, into: .metrics, syncedAt: noon)
        }

        let found = samples.filter { sample in
            GuessedState.unkeyedHashes(of: sample, ids).contains { state.files(contain: $0) }
        }

        #expect(found.map(\.kind) == [])
    }

    @Test func `the place of a pull that has stopped cannot be read`() throws {
        let state = try GuessedState(firstKey)
        let cursor = "eyJpZCI6MTU0MjAsInBsYWNlIjoxfQ"

        try state.store.cache.storePullPlace(cursor, of: .metrics)

        #expect(!state.files(contain: Array(cursor.utf8)))
        #expect(try state.store.cache.pullRecord(of: .metrics).place == cursor)
    }

    @Test func `the size of an export cannot be read`() throws {
        let state = try GuessedState(firstKey)
        let export = "\(state.folder.path)/export.xml"
        state.folder.write([UInt8](repeating: 9, count: 987_654), to: "export.xml")
        let stamp = try #require(SourceStamp(path: export, reader: "1", at: noon + .seconds(9)))

        try state.store.outbox.noteRead(export, stamp, at: noon)

        #expect(!state.files(contain: Array("987654".utf8)))
        #expect(try state.store.outbox.wasRead(export, stamp) == noon)
    }

    @Test func `the search finds an unkeyed hash and a length`() throws {
        let ids = MetricIDs(userID: GuessedState.user)
        let (first, second) = GuessedState.values(of: .heartRate)

        let differences = try GuessedState.differences { isFirst, store in
            let id = ids(isFirst ? first : second).description
            try store.sql("INSERT INTO closures (route, until_ms) VALUES ('\(id)', 1)")
        }
        let state = try GuessedState(firstKey)
        try state.store.sql(
            "INSERT INTO closures (route, until_ms) VALUES ('\(ids(first))', 1)")

        #expect(differences == ["closures.route"])
        #expect(GuessedState.unkeyedHashes(of: first, ids).contains { state.files(contain: $0) })
        #expect(!GuessedState.unkeyedHashes(of: second, ids).contains { state.files(contain: $0) })
    }
}
