import Database
import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

@Suite(.onBothEngines) struct OutboxActionsTests {
    private let folder = StateFolder()

    private func selection(
        _ state: OutboxState? = nil, _ kind: SampleKind? = nil, before: Instant? = nil,
        reason: String? = nil
    ) -> OutboxSelection {
        var selection = OutboxSelection()
        (selection.state, selection.kind) = (state, kind)
        (selection.before, selection.reason) = (before, reason)
        return selection
    }

    /// Stores four rejected heart rates, two steps that a rule set aside, and four queued heart
    /// rates.
    private func filled() throws -> HealthStore {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<4))
        let batch = try #require(try store.outbox.nextBatch(limit: 4, at: noon))
        try store.outbox.settle(
            batch, processingID: nil,
            rejected: [0: "`a`: b", 1: "`a`: b", 2: "`a`: b", 3: "`c`: D"],
            words: [3: "must be less than #"], at: noon)
        _ = try store.outbox.enqueue([sample(.steps, 0), sample(.steps, 1)])
        _ = try store.outbox.sortOut(by: [testRules(without: [.steps])], at: noon)
        _ = try store.outbox.enqueue(heartRates(10..<14))
        return store
    }

    @Test func `samples are listed newest first, by state, kind, age and reason`() throws {
        let store = try filled()
        let minute = Instant(secondsSince1970: 1_700_000_060)
        func list(_ selection: OutboxSelection) throws -> [Int64] {
            try store.outbox.entries(selection, limit: 100).entries.map(\.id)
        }

        #expect(try list(selection()) == [10, 9, 8, 7, 4, 3, 6, 2, 5, 1])
        #expect(try list(selection(.rejected)) == [4, 3, 2, 1])
        #expect(try list(selection(nil, .steps)) == [6, 5])
        #expect(try list(selection(before: minute)) == [5, 1])
        #expect(try list(selection(reason: "kind")) == [6, 5])
        #expect(try list(selection(reason: "`c`: d")) == [4])
        #expect(try list(selection(.queued, .steps)) == [])
        let first = try store.outbox.entries(selection(.rejected), limit: 1)
        #expect(first.entries.map(\.reason) == ["`c`: D"] && first.total == 4)
    }

    @Test func `samples are chosen by their numbers, and by a filter too`() throws {
        let store = try filled()
        func chosen(_ state: OutboxState? = nil, _ ids: Int64...) -> OutboxSelection {
            var selection = selection(state)
            selection.ids = ids
            return selection
        }

        #expect(OutboxSelection().isEverything && !chosen(nil, 1).isEverything)
        #expect(
            try store.outbox.entries(chosen(nil, 2, 6, 99), limit: 9).entries.map(\.id) == [6, 2])
        #expect(try store.outbox.retry(chosen(.rejected, 2, 6)) == 1)
        #expect(try store.outbox.discard(chosen(nil, 6, 7)) == 2)
        let rejected = try store.outbox.entries(selection(.rejected), limit: 9).entries.map(\.id)
        #expect(rejected == [7, 4, 3, 6, 1])
    }

    @Test func `what is sent again is what was asked for, and the audit log says so`() throws {
        let store = try filled()

        let shares = try store.outbox.retryShares(selection(reason: "`a`: b"))
        let count = try store.outbox.retry(selection(reason: "`a`: b"))

        #expect(shares == [OutboxShare(kind: "heart_rate", state: .rejected, count: 3)])
        #expect(count == 3)
        #expect(try store.outbox.states() == [.queued: 7, .rejected: 1, .setAside: 2])
        let entry = try #require(try store.audit.records(limit: 99).last?.entry)
        #expect(entry.action == .requeued && entry.counts == ["heart_rate": 3])
    }

    @Test func `what is discarded loses its value, stays known and is not sent again`() throws {
        let store = try filled()

        let count = try store.outbox.discard(selection(.rejected))
        let again = try store.outbox.retry(selection(.rejected))
        let known = try store.outbox.enqueue(heartRates(0..<4))

        #expect(count == 4 && again == 0 && known.duplicates == 4)
        let entries = try store.outbox.entries(selection(.rejected), limit: 9).entries
        #expect(entries.map(\.reason) == Array(repeating: "discarded by a person", count: 4))
        let shown = try #require(try store.outbox.sample(4, withValue: true))
        #expect(shown.sample == nil && shown.serverWords == nil)
        #expect(try store.outbox.discard(selection(.rejected)) == 0)
        #expect(try store.outbox.arithmetic().isBalanced)
        #expect(try store.outbox.prove().findings == [])
        let entry = try #require(
            try store.audit.records(limit: 99).compactMap(\.entry).last { $0.action == .removed })
        #expect(entry.counts == ["heart_rate": 4] && entry.detail == "discarded by a person")
        let counts = try store.outbox.counts()
        #expect(counts.discarded == 4 && counts[.rejected] == 0 && counts.isBalanced)
        #expect(try store.outbox.backlog().forPerson == counts[.setAside])
        #expect(try store.outbox.review().allSatisfy { $0.state == .setAside })
    }

    @Test func `what was discarded comes back by its reason alone, from its source`() throws {
        let store = try filled()
        _ = try store.outbox.discard(selection(.rejected))

        let shares = try store.outbox.retryShares(selection(reason: "discarded"))
        let count = try store.outbox.retry(selection(reason: "discarded"))
        let anew = try store.outbox.enqueue(heartRates(0..<4))

        #expect(shares.map(\.count) == [4] && count == 4 && anew.queued == 4)
        let sums = try store.outbox.arithmetic()
        #expect(sums.isBalanced && sums.counts[.rowsRemoved] == 4)
    }

    @Test func `the word for what was discarded counts in any case of letters`() throws {
        let store = try filled()
        _ = try store.outbox.discard(selection(.rejected))

        #expect(try store.outbox.retry(selection(reason: "Discarded")) == 4)
    }

    @Test(.onFilesAlone, arguments: ["sources", "outbox WHEN old.id > 5000"])
    func `a retry that ends early loses nothing that no reading brings again`(
        broken: String
    ) throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<5100))
        _ = try store.outbox.discard(selection(.queued))
        try store.change { connection in
            try connection.execute(
                """
                INSERT INTO sources (tag, stamp, read_at_ms)
                    VALUES (x'00000000000000000000000000000001', 's', 0);
                CREATE TRIGGER broken BEFORE DELETE ON \(broken)
                BEGIN SELECT RAISE(ABORT, 'killed'); END;
                """)
        }

        #expect(throws: HealthStoreError.self) {
            _ = try store.outbox.retry(selection(reason: "discarded"))
        }

        let counts = try store.access { connection in
            try connection.all(
                "SELECT (SELECT count(*) FROM outbox), (SELECT count(*) FROM sources)"
            ) { [$0.integer(0), $0.integer(1)] }
        }
        #expect([[5100, 1], [100, 0]].contains(counts[0]), "\(counts)")
    }

    @Test func `what the backend said goes when a sample is sent again`() throws {
        let store = try filled()
        let before = try store.outbox.sample(4)?.serverWords

        _ = try store.outbox.retry(selection(reason: "`c`: d"))

        #expect(before == "must be less than #")
        #expect(try #require(try store.outbox.sample(4)).serverWords == nil)
    }

    @Test func `what the backend said of a day goes with the value that it was said of`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(aggregates: [sample(.steps, 1, 100)], asOf: noon)
        let batch = try #require(try store.outbox.nextBatch(limit: 9, at: noon))
        try store.outbox.settle(
            batch, processingID: nil, rejected: [0: "`a`: b"], words: [0: "odd"], at: noon)
        let before = try store.outbox.sample(1)?.serverWords

        let counts = try store.outbox.enqueue(aggregates: [sample(.steps, 1, 200)], asOf: noon)

        #expect(before == "odd" && counts.replaced == 1)
        #expect(try #require(try store.outbox.sample(1)).serverWords == nil)
    }

    @Test func `nothing that the backend may have is discarded`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<9))
        try store.outbox.settle(
            try #require(try store.outbox.nextBatch(limit: 3, at: noon)), processingID: "p",
            at: noon)
        try store.outbox.settle(
            try #require(try store.outbox.nextBatch(limit: 3, at: noon)), processingID: nil,
            at: noon)
        _ = try store.outbox.nextBatch(limit: 2, at: noon)

        let count = try store.outbox.discard(OutboxSelection())

        #expect(count == 1)
        #expect(
            try store.outbox.states() == [.accepted: 3, .unconfirmed: 3, .sending: 2])
        #expect(try store.outbox.counts().discarded == 1)
    }

    @Test func `more than a portion is changed whole`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<11_000))

        let count = try store.outbox.discard(selection(.queued))

        #expect(count == 11_000)
        #expect(try store.outbox.states() == [:])
        #expect(try store.outbox.counts().discarded == 11_000)
    }

    @Test func `a sample is shown with its batch and the backend's words, not its value`() throws {
        let store = try filled()
        let batch = try #require(try store.outbox.nextBatch(limit: 9, at: noon))
        try store.outbox.settle(batch, processingID: "p-1", at: noon + .seconds(9))

        let refused = try #require(try store.outbox.sample(4))
        let sent = try #require(try store.outbox.sample(7))

        #expect(refused.entry.state == .rejected && refused.sample == nil)
        #expect(refused.serverWords == "must be less than #")
        #expect(sent.entry.state == .accepted && sent.batch?.processingID == "p-1")
        #expect(sent.batch?.route == "metrics" && sent.batch?.attempts == 1)
        #expect(sent.batch?.acceptedAt == noon + .seconds(9))
        #expect(try store.outbox.sample(99) == nil)
    }

    @Test func `a value is shown only with an entry of the audit log`() throws {
        let store = try filled()
        let before = try store.audit.records(limit: 99).count

        _ = try store.outbox.sample(7)
        let unseen = try store.audit.records(limit: 99).count
        let shown = try #require(try store.outbox.sample(7, withValue: true))

        #expect(unseen == before)
        #expect(shown.sample == heartRates(10..<11)[0])
        let entry = try #require(try store.audit.records(limit: 99).last?.entry)
        #expect(entry.action == .read && entry.detail == "shown to a person")
    }
}
