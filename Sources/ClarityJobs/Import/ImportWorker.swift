import HealthStore
import ClarityScheduler

/// Reads the sources into the archive, and sends nothing.
///
/// The samples that it finds wait for a `bulk-upload`, which a file without a backend does not have.
struct ImportWorker: KindWorker {
    func run(_ options: ImportingOptions, _ context: WorkContext) async throws -> Outcome {
        var reading = SourceImport(context)
        return try reading.run().map { reading.outcome(after: $0) } ?? .success
    }
}

extension ImportingOptions: WorkedOptions {
    static var worker: any KindWorker { ImportWorker() }
}
