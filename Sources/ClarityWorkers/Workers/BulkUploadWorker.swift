import ClarityJobs
public import ClarityScheduler

/// Reads the sources into the outbox and sends what the backend does not have yet.
///
/// A source that cannot be read, or not to its end, does not hold back the others nor what was read
/// of it; the attempt fails with it when everything else is done.
public struct BulkUploadWorker: KindWorker {
    /// Creates the worker.
    public init() {}

    public func run(_ context: WorkContext) async throws -> Outcome {
        let options = WorkOptions(context.order)
        let batchSize = try options.integer("batch_size")
        var reading = SourceImport(context)
        let broken = try reading.run(options.sources(now: context.clock.now))
        do {
            var upload = UploadPass(context, batchSize: batchSize)
            try await upload.run()
        } catch {
            // The run ends with the later failure, and still says what else was wrong.
            if let broken { context.note(broken.reason) }
            throw error
        }
        return broken.map { .failure($0) } ?? .success
    }
}
