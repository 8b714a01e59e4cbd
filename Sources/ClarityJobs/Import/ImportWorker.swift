import HealthStore
import ClarityScheduler

/// Reads the sources into the archive, and sends nothing.
///
/// The samples that it finds wait for a `bulk-upload`; without a backend, they are packed.
struct ImportWorker: KindWorker {
    func run(_ options: ImportingOptions, _ context: WorkContext) async throws -> Outcome {
        // A wiped account is about to be removed.
        if context.backend == nil, context.order.job.account == nil {
            try context.store.sessions.beginWithoutLogin()
        }
        var reading = SourceImport(context)
        let broken = try reading.run()
        if context.backend == nil, !context.isDryRun {
            try context.store.outbox.packKept(at: context.clock.now)
        }
        return broken.map { reading.outcome(after: $0) } ?? .success
    }
}

extension ImportingOptions: WorkedOptions {
    static var worker: any KindWorker { ImportWorker() }
}
