import Database
import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

@Suite(.onBothEngines) struct OutboxErasingTests {
    private let folder = StateFolder()

    /// Sends heart rates as one upload that the backend accepts, under an id if it names one.
    private func send(
        _ range: Range<Int>, as id: String?, by route: UploadRoute = .metrics, _ store: HealthStore
    ) throws {
        _ = try store.outbox.enqueue(heartRates(range))
        let draw = try store.outbox.nextBatches(limit: 100, rules: [testRules(route)], at: noon)
        try store.outbox.settle(try #require(draw.batch), processingID: id, at: noon)
    }

    private func confirm(_ id: String, _ store: HealthStore) throws {
        let open = try store.outbox.openUploads()
        try store.outbox.confirm(try #require(open.first { $0.processingID == id }), at: noon)
    }

    @Test func `a plan has the uploads with an id, and names what has none`() throws {
        let store = try folder.open()
        try send(0..<1, as: "packed", store)
        try confirm("packed", store)
        try store.outbox.pack(atLeast: 1, at: noon)
        try send(10..<12, as: "one", store)
        try send(20..<23, as: "two", store)
        try send(30..<34, as: "three", by: .samples, store)
        try send(40..<45, as: nil, store)
        _ = try store.outbox.enqueue(heartRates(50..<56))
        _ = try store.outbox.nextBatches(
            limit: 100, rules: [testRules(isIdempotent: false)], at: noon)

        let plan = try store.outbox.erasurePlan([], of: .metrics)
        let first = try #require(heartRates(10..<11).first)
        let last = try #require(heartRates(22..<23).first)
        let entries = try store.outbox.entries(OutboxSelection(), limit: 99).entries
        let row = try #require(entries.first { $0.start == first.start })
        let ofOne = try store.outbox.erasurePlan([row.id], of: .metrics)
        let none = try store.outbox.erasurePlan([], of: nil)

        #expect(plan.uploads.map(\.processingID) == ["packed", "one", "two"])
        #expect(plan.samples == ["heart_rate": 5] && plan.withoutDeletion == ["heart_rate": 4])
        #expect(plan.untraceable == 6 && plan.inDoubt == 6)
        #expect(plan.start == first.start && plan.end == last.end)
        #expect(ofOne.uploads.map(\.processingID) == ["one"] && ofOne.samples == ["heart_rate": 2])
        #expect(ofOne.untraceable == 0 && ofOne.inDoubt == 0 && ofOne.withoutDeletion.isEmpty)
        #expect(none.uploads.isEmpty && none.withoutDeletion == ["heart_rate": 14])
    }

    @Test func `samples that wait to be sent again may have left copies`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<3))
        let rules = testRules(.samples, isIdempotent: false)
        let draw = try store.outbox.nextBatches(limit: 100, rules: [rules], at: noon)
        try store.outbox.settle(
            TakenBatch(try #require(draw.batch), processingID: "one", isStored: true), at: noon)
        let retried = try store.outbox.retry(OutboxSelection(state: .stored))

        let plan = try store.outbox.erasurePlan([], of: .metrics)

        #expect(retried == 3 && plan.inDoubt == 3)
    }

    @Test func `an erased upload leaves its samples here, and its entry in the audit log`() throws {
        let store = try folder.open()
        try send(0..<3, as: "one", store)
        let upload = try #require(try store.outbox.erasurePlan([], of: .metrics).uploads.first)

        try store.outbox.beginErasing(upload, at: noon)
        let begun = try store.outbox.erasurePlan([], of: .metrics).uploads
        let open = try store.outbox.openUploads()
        let samples = try store.outbox.erase(upload, at: noon)
        let known = try store.outbox.enqueue(heartRates(0..<3))

        #expect(begun.map(\.isBegun) == [true] && open.isEmpty)
        #expect(samples == ["heart_rate": 3] && known.duplicates == 3 && known.queued == 0)
        #expect(try store.outbox.nextBatch(limit: 9, at: noon) == nil)
        let counts = try store.outbox.counts()
        #expect(counts.erased == 3 && counts[.rejected] == 0 && counts.isBalanced)
        #expect(counts.forPerson == 0)
        #expect(try store.outbox.erasurePlan([], of: .metrics) == ErasurePlan())
        let entries = try store.audit.records(limit: 99).compactMap(\.entry)
        #expect(entries.last?.action == .erased && entries.last?.counts == ["heart_rate": 3])
        // Their values are still here, so that a person can have them sent again.
        #expect(try store.outbox.prove().findings == [])
        var selection = OutboxSelection()
        #expect(try store.outbox.retry(selection) == 0)
        selection.reason = OutboxSelection.erased
        #expect(try store.outbox.retry(selection) == 3)
        #expect(try store.outbox.nextBatch(limit: 9, at: noon)?.samples.count == 3)
    }
}
