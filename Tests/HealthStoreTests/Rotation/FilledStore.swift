@preconcurrency import Glibc
import Database
import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

/// A state directory with a row in every table that stores data under the master key, and checks
/// that only an undamaged directory passes.
struct FilledStore {
    let folder: StateFolder
    /// Samples that were sent, confirmed and pruned.
    let pruned = heartRates(0..<4)
    /// Samples that were confirmed and packed, and some whose values were then removed.
    let packed = heartRates(20..<24, source: "Invented watch")
    let bare = heartRates(-60_000 ..< -59_997)
    /// Samples that still wait.
    let waiting = heartRates(4..<9, source: "Invented watch")
    let session = Session(
        userID: "ada", email: "ada@example.com", accessToken: Secret("access"),
        refreshToken: Secret("refresh"), expiresAt: noon)
    let source = "/home/ada/export.zip"

    init(_ environment: [String: String] = [:]) throws {
        folder = StateFolder()
        let store = try folder.open(environment)
        try store.sessions.save(session)
        try store.cache.storeProfile([7], syncedAt: noon)
        func confirm() throws {
            let batch = try #require(try store.outbox.nextBatch(limit: 9, at: noon))
            try store.outbox.settle(
                batch, processingID: nil, duplicates: Array(batch.samples.indices), at: noon)
        }
        for (samples, time) in [(bare, noon), (packed, noon + .seconds(9))] {
            _ = try store.outbox.enqueue(samples)
            try confirm()
            #expect(try store.outbox.pack(atLeast: 1, at: time) == samples.count)
        }
        _ = try store.outbox.enqueue(pruned)
        try confirm()
        _ = try store.prune(before: noon + .seconds(1))
        _ = try store.outbox.enqueue(waiting)
        for table in CachedTable.allCases {
            _ = try store.cache.upsert([row("a", "old", at: -9)], into: table, syncedAt: noon)
            _ = try store.cache.upsert(rows, into: table, syncedAt: noon)
        }
        try store.outbox.noteRead(source, stamp, at: noon)
        try store.cache.storePullPlace(FilledStore.cursor, of: .metrics)
        try store.analyses.keep(FilledStore.steps)
        _ = try store.outbox.settleDayZone("Europe/London")
        try store.outbox.contribute([FilledStore.partialAggregate], of: source) { _, _ in [1, 2, 3]
        }
        _ = try store.archive.keep(archived(0..<5), of: source, zone: .utc)
        try read(store)
        _ = try store.analyses.queueInsight(of: completedAnalysis(store), testMatter, at: noon)
        try store.publications.confirm(
            ["2025-10-09": 7], by: try #require(JobID("home")), at: "https://home.example")
    }

    /// Records a reading in the ledger, and the backend's words about the first waiting sample.
    private func read(_ store: HealthStore) throws {
        var counts = ReadingCounts()
        (counts[.read], counts[.unmapped]) = (3, 3)
        try store.outbox.end(try store.outbox.beginReading(of: source), counts, FilledStore.reasons)
        try store.change { connection in
            let id = try connection.first("SELECT min(id) FROM outbox WHERE state = 'queued'") {
                $0.integer(0)
            }
            try store.outbox.storeWords("too high", of: try #require(id), connection)
        }
    }

    private static var reasons: ReadingReasons {
        var reasons = ReadingReasons()
        reasons.unmapped = ["BodyMass": 3]
        return reasons
    }

    private static let partialAggregate = PartialAggregateKey(kind: .steps, period: 700)
    private static let cursor = "eyJpZCI6MTU0MjB9"

    /// A week of steps.
    private static let steps = (100..<107).map {
        StepDay(
            day: CivilDay(daysSince1970: $0), zone: "UTC", counts: [UInt32($0)], knownMinutes: 1440)
    }

    /// Takes a state directory that is already filled.
    init(_ folder: StateFolder) { self.folder = folder }

    var rows: [CachedRow] { [row("b", "2"), row("a", "1")] }

    private var stamp: SourceStamp {
        get throws {
            try #require(
                SourceStamp(
                    path: "/proc/self/exe", reader: "1", at: Instant(secondsSince1970: 1 << 33)))
        }
    }

    private func row(_ id: String, _ json: String, at seconds: Int64 = 0) -> CachedRow {
        CachedRow(
            id: id, type: "heart_rate", timestamp: noon + .seconds(seconds), json: Array(json.utf8))
    }

    /// Copies the files as a kill at this instant would leave them. Leaves out the `-shm` on
    /// purpose, because a machine that keeps it in memory loses it at a restart.
    func copy() -> FilledStore {
        let copy = StateFolder()
        for (name, bytes) in folder.contents where name != "health.db-shm" {
            copy.write(bytes, to: name)
        }
        return FilledStore(copy)
    }

    /// Checks that everything that was stored is there and is recognised again.
    func expectWhole(
        _ environment: [String: String] = [:], hasPartialAggregates: Bool = true,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let store = try folder.open(environment)
        #expect(try store.sessions.load() == session, sourceLocation: sourceLocation)
        #expect(try store.sessions.owner() == "ada", sourceLocation: sourceLocation)
        #expect(try store.cache.profile()?.json == [7], sourceLocation: sourceLocation)
        for table in CachedTable.allCases {
            let found = try store.cache.rows(of: table, limit: 9)
            #expect(
                found.map(\.row) == rows.sorted { $0.id < $1.id }, sourceLocation: sourceLocation)
            #expect(found.damaged.isEmpty, sourceLocation: sourceLocation)
            let again = try store.cache.upsert(rows, into: table, syncedAt: noon)
            #expect(again.unchanged == 2, sourceLocation: sourceLocation)
            let versions = try store.cache.versions(limit: 9)
            #expect(Set(versions.map(\.id)) == ["a"], sourceLocation: sourceLocation)
            #expect(
                try versions.allSatisfy { try store.cache.version($0.number)?.version.id == "a" },
                sourceLocation: sourceLocation)
        }
        #expect(
            try store.cache.pullRecord(of: .metrics).place == FilledStore.cursor,
            sourceLocation: sourceLocation)
        // A file of the former release has neither partial aggregates nor packed samples.
        let known = pruned + waiting + (hasPartialAggregates ? packed + bare : [])
        let counts = try store.outbox.enqueue(known)
        #expect(
            counts.duplicates == Int64(known.count) && counts.queued == 0,
            sourceLocation: sourceLocation)
        #expect(
            try store.outbox.nextBatch(limit: 99, at: noon)?.samples == waiting,
            sourceLocation: sourceLocation)
        #expect(try store.outbox.wasRead(source, stamp) == noon, sourceLocation: sourceLocation)
        let week = try store.analyses.stepMinutes(endingOn: CivilDay(daysSince1970: 106))
        #expect(
            week
                == .known(
                    counts: FilledStore.steps.flatMap(\.counts),
                    isKnown: [Bool](repeating: true, count: 10_080)),
            sourceLocation: sourceLocation)
        #expect(try store.outbox.dayZone()?.name == "Europe/London", sourceLocation: sourceLocation)
        var partialAggregates: [[UInt8]] = []
        try store.outbox.contribute([FilledStore.partialAggregate], of: source) { _, kept in
            partialAggregates += [kept].compactMap { $0 }
            return nil
        }
        #expect(
            partialAggregates == (hasPartialAggregates ? [[1, 2, 3]] : []),
            sourceLocation: sourceLocation)
        #expect(
            try store.analyses.latestResult()?.result.numbers == ["m10": 1],
            sourceLocation: sourceLocation)
        let request = try #require(try store.analyses.openInsightRequests().first)
        #expect(
            try store.analyses.matter(of: request) == testMatter, sourceLocation: sourceLocation)
        #expect(try store.audit.verify().broken == nil, sourceLocation: sourceLocation)
        #expect(
            try store.outbox.arithmetic().reasons == FilledStore.reasons,
            sourceLocation: sourceLocation)
        let described = try #require(try store.integer("SELECT id FROM server_words"))
        #expect(
            try store.outbox.sample(described)?.serverWords == "too high",
            sourceLocation: sourceLocation)
    }
}

/// Master keys for tests, as an environment variable.
let firstKey = ["CLARITY_JOBS_KEY": String(repeating: "0f", count: 32)]
let secondKey = ["CLARITY_JOBS_KEY": String(repeating: "aa", count: 32)]

func cipher(_ environment: [String: String]) throws -> Cipher {
    let key = try #require(
        try MasterKeySource(stateDirectory: "/none", environment: environment).load())
    return try Cipher(key)
}
