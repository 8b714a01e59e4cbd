import Database
import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

@Suite(.onBothEngines) struct WipeTests {
    private let folder = StateFolder()

    private static func session(_ user: String, _ token: String = "t") -> Session {
        Session(
            userID: user, email: "\(user)@example.com", accessToken: Secret("access-\(token)"),
            refreshToken: Secret("refresh-\(token)"), expiresAt: noon)
    }

    private static let row = CachedRow(
        id: "row-1", type: "heart_rate", timestamp: noon, json: Array("{}".utf8))

    private var stamp: SourceStamp {
        get throws {
            try #require(
                SourceStamp(
                    path: "\(folder.path)/keys/master.key", reader: "1",
                    at: noon + .seconds(1 << 31)))
        }
    }

    /// Makes a store with data of every kind.
    private func fill() throws -> HealthStore {
        let store = try folder.open()
        try store.sessions.save(Self.session("ada"), at: noon)
        _ = try store.outbox.enqueue(heartRates(0..<300))
        let batch = try #require(try store.outbox.nextBatch(limit: 100, at: noon))
        try store.outbox.settle(batch, processingID: "p-1", at: noon)
        try store.cache.storeProfile(Array("{}".utf8), syncedAt: noon)
        for table in CachedTable.allCases {
            _ = try store.cache.upsert([Self.row], into: table, syncedAt: noon)
            var newer = Self.row
            newer.timestamp = noon + .seconds(60)
            _ = try store.cache.upsert([newer], into: table, syncedAt: noon)
        }
        try store.outbox.noteRead("/home/ada/export.zip", stamp, at: noon)
        try store.outbox.contribute(
            [PartialAggregateKey(kind: .steps, period: 700)], of: "/home/ada/export.zip"
        ) { _, _ in [7] }
        _ = try store.archive.keep(archived(0..<5), of: "/home/ada/export.zip", zone: .utc)
        _ = try store.analyses.queueInsight(of: completedAnalysis(store), testMatter, at: noon)
        return store
    }

    @Test func `a wipe removes all that is the user's and says how much of each kind`() throws {
        let store = try fill()
        let isThere = try store.hasUserData()

        let receipt = try store.wipe()

        #expect(
            receipt.entries.map { "\($0.count) \($0.name)" } == [
                "1 sessions", "1 profiles", "300 samples", "1 uploads", "1 metrics", "1 insights",
                "2 archived versions", "1 sources", "1 segments of records", "1 analyses",
            ])
        let after = try folder.open()
        #expect(isThere)
        #expect(try !after.hasUserData())
        #expect(
            try after.sessions.load() == nil && after.sessions.owner() == nil
                && after.sessions.record() == nil)
        #expect(try after.outbox.counts().total == 0)
        #expect(try after.wipe().total == 0)
    }

    @Test(.onFilesAlone) func `every table is either wiped or known to hold nothing of a user`()
        throws
    {
        let tables = try folder.open().access { connection in
            try connection.all("SELECT name FROM sqlite_schema WHERE type = 'table'") { $0.text(0) }
        }

        let known = HealthStore.wipedTables.map(\.0) + HealthStore.keptTables

        #expect(Set(tables) == Set(known))
    }

    @Test(.onFilesAlone) func `no encrypted page is left in the file or its log`() throws {
        let store = try fill()
        let encrypted = try store.access { connection in
            try [
                "outbox", "metrics", "insights", "profile", "session", "owner", "archive",
                "analyses", "insight_requests", "contributions",
            ].flatMap {
                try connection.all("SELECT sealed FROM \($0) LIMIT 20") { $0.blob(0) }
            }
        }
        try store.access { try $0.execute("PRAGMA wal_checkpoint(PASSIVE)") }
        let size = folder.bytes(of: "health.db").count

        _ = try store.wipe()

        #expect(encrypted.count == 30)
        for (name, bytes) in folder.contents where !bytes.isEmpty {
            for value in encrypted { #expect(!bytes.contains(value), "\(name)") }
        }
        #expect(folder.bytes(of: "health.db").count < size)
        #expect(folder.bytes(of: "health.db-wal").isEmpty)
    }

    @Test func `whoever opened the store before puts nothing back`() throws {
        let running = try fill()
        let session = try #require(try running.sessions.load())
        let batch = try #require(try running.outbox.nextBatch(limit: 100, at: noon))
        let upload = try #require(try running.outbox.openUploads().first)
        _ = try folder.open().wipe()
        let stamp = try stamp

        let writes: [(String, () throws -> Void)] = [
            ("enqueue", { _ = try running.outbox.enqueue(heartRates(0..<1)) }),
            ("take a batch", { _ = try running.outbox.nextBatch(limit: 1, at: noon) }),
            ("settle", { try running.outbox.settle(batch, processingID: "p", at: noon) }),
            ("confirm", { try running.outbox.confirm(upload, at: noon) }),
            ("pull", { _ = try running.cache.upsert([Self.row], into: .metrics, syncedAt: noon) }),
            ("profile", { try running.cache.storeProfile([], syncedAt: noon) }),
            ("source", { try running.outbox.noteRead("/x", stamp, at: noon) }),
            ("log in", { try running.sessions.save(session, at: noon) }),
            ("renew", { _ = try running.sessions.replace(session, with: session, at: noon) }),
            ("end", { _ = try running.sessions.remove(session, because: "", at: noon) }),
            ("note", { _ = try running.sessions.noteRefusal("", isTrouble: true, at: noon) }),
            ("read the session", { _ = try running.sessions.load() }),
        ]
        for (name, write) in writes {
            let error = #expect(throws: HealthStoreError.self, "\(name)") { try write() }
            #expect(
                error?.failure
                    == Failure(.credential, "a logout has removed everything since this began"))
        }

        #expect(try !folder.open().hasUserData())
    }

    @Test func `a store that is opened after a wipe takes nothing before a login`() throws {
        _ = try fill().wipe()
        let store = try folder.open()

        let error = #expect(throws: HealthStoreError.self) {
            try store.outbox.enqueue(heartRates(0..<1))
        }
        let session = try store.sessions.load()
        try store.sessions.save(Self.session("eve"), at: noon)
        let counts = try store.outbox.enqueue(heartRates(0..<1))

        #expect(
            error?.failure
                == Failure(.credential, "nobody is logged in; run `clarity-jobs auth login`"))
        #expect(session == nil)
        #expect(counts.queued == 1)
        #expect(try folder.open().sessions.owner() == "eve")
    }

    @Test func `a new store takes samples before the first login`() throws {
        let store = try folder.open()

        _ = try store.outbox.enqueue(heartRates(0..<2))
        try store.sessions.save(Self.session("ada"), at: noon)

        #expect(try store.outbox.states() == [.queued: 2])
    }

    @Test func `the audit log tells of a wipe once, and of none that removed nothing`() throws {
        _ = try fill().wipe()

        _ = try folder.open().wipe()
        _ = try folder.open().wipe()

        let entries = try folder.open().audit.records(limit: 99).compactMap(\.entry)
        #expect(entries.count { $0.action == .removed } == 1)
        #expect(entries.last?.user == "ada" && entries.last?.counts["samples"] == 300)
    }

    @Test func `a wipe does not lend more logins`() throws {
        let store = try fill()
        _ = try store.sessions.reserveLogin(email: "ada@example.com", at: noon)
        _ = try store.sessions.reserveLogin(email: "ada@example.com", at: noon)

        _ = try store.wipe()

        #expect(
            try folder.open().sessions.reserveLogin(email: "ada@example.com", at: noon)
                == .usedUp(until: noon + .seconds(900)))
    }

    @Test(.onFilesAlone) func `a reader delays the old pages, and the next call gives them up`()
        throws
    {
        _ = try fill()
        let reader = try FileConnection(path: "\(folder.path)/health.db", access: .readOnly)
        try reader.execute("BEGIN")
        _ = try reader.first("SELECT count(*) FROM outbox") { $0.integer(0) }
        let store = try folder.open()
        try store.access { try $0.execute("PRAGMA busy_timeout = 20") }

        let error = #expect(throws: HealthStoreError.self) { try store.wipe() }
        let isGone = try !folder.open().hasUserData()
        try reader.execute("COMMIT")
        _ = try folder.open().wipe()

        #expect(error?.isBusy == true)
        #expect(isGone)
        #expect(folder.bytes(of: "health.db-wal").isEmpty)
    }

    @Test func `what was never sent is what the backend did not take or refuse`() throws {
        let store = try folder.open()
        try store.sessions.save(Self.session("ada"), at: noon)
        _ = try store.outbox.enqueue(heartRates(0..<10))
        let accepted = try #require(try store.outbox.nextBatch(limit: 3, at: noon))
        try store.outbox.settle(accepted, processingID: "p", rejected: [0: "no"], at: noon)
        _ = try store.outbox.nextBatch(limit: 2, at: noon)

        // Five samples wait and two are being sent.
        #expect(try store.outbox.unsentCount() == 7)
    }
}
