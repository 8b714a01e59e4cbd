import Database
import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

/// Uploads that a former version left accepted or unconfirmed.
@Suite(.onBothEngines) struct AnsweredUploadsTests {
    private static let user = "5f0c7e52-6a1d-4f0e-9b1e-2d8a4c3b7a10"
    /// As the deployed backend and the blueprint name an upload of samples.
    private static let deployed = "\(user)-8f62a0c4d1e94b7fa35c9d20e7b61f48"
    private static let blueprint = "\(user)-8f62a0c4-d1e9-4b7f-a35c-9d20e7b61f48"

    private let folder = StateFolder()

    /// Leaves an upload of four samples as a former version did, whatever answered it.
    private func leave(_ route: UploadRoute, _ id: String, isGivenUp: Bool) throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<4))
        let rules = testRules(route, isIdempotent: false)
        let batch = try #require(
            try store.outbox.nextBatches(limit: 4, rules: [rules], at: noon).batch)
        try store.outbox.settle(batch, processingID: id, at: noon)
        guard isGivenUp else { return }
        let upload = try #require(try store.outbox.openUploads().first)
        try store.noteAsked(about: .upload(upload), "processing", at: noon)
        try store.outbox.giveUp(upload, reason: "late", at: noon + .seconds(7 * 86_400))
    }

    @Test(arguments: [false, true])
    func `samples that the deployed backend accepted are stored when the data is opened`(
        isGivenUp: Bool
    ) throws {
        try leave(.samples, Self.deployed, isGivenUp: isGivenUp)

        let store = try folder.open()

        #expect(try store.outbox.states() == [.stored: 4])
        #expect(try store.outbox.openUploads() == [])
        #expect(try store.outbox.review().isEmpty)
        #expect(try store.outbox.prove().findings == [])
        // They count as stored since the answer, for `cleanup` and in the list.
        let found = try store.access { connection in
            try connection.all(
                "SELECT finished_at_ms, coalesce(reason, 'none') FROM batches"
            ) { "\($0.instant(0) == noon) \($0.text(1))" }
        }
        #expect(found == ["true none"])
        #expect(try store.outbox.pack(atLeast: 1, at: noon) == 4)
        #expect(try folder.open().outbox.states() == [.stored: 4])
    }

    @Test(
        arguments: [
            (UploadRoute.metrics, "8f62a0c4-d1e9-4b7f-a35c-9d20e7b61f48"), (.metrics, deployed),
            (.samples, blueprint), (.samples, "8f62a0c4d1e94b7fa35c9d20e7b61f48"), (.samples, "p"),
        ], [false, true])
    func `metrics, and samples that the blueprint accepted, stay as they are`(
        upload: (route: UploadRoute, id: String), isGivenUp: Bool
    ) throws {
        try leave(upload.route, upload.id, isGivenUp: isGivenUp)

        let store = try folder.open()

        #expect(try store.outbox.states() == [isGivenUp ? .unconfirmed : .accepted: 4])
    }
}
