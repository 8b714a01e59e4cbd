import ClarityJobs
public import ClarityScheduler

/// Removes local copies that have outlived their retention, and gives the space back.
///
/// What the backend has not confirmed is never touched. The counts and the note are the receipt.
public struct CleanupWorker: KindWorker {
    /// Creates the worker.
    public init() {}

    public func run(_ context: WorkContext) async throws -> Outcome {
        let retain = try WorkOptions(context.order).duration("retain")
        let cutoff = context.clock.now - retain
        var counts = WorkCounts(context)
        var pruned: PruneCounts
        repeat {
            pruned = try context.store.prune(before: cutoff)
            counts.add(pruned.samples, to: "samples_removed")
            counts.add(pruned.metrics, to: "metrics_removed")
            counts.add(pruned.insights, to: "insights_removed")
            counts.add(pruned.archived, to: "versions_removed")
            counts.add(pruned.batches, to: "batches_removed")
            try context.checkTime()
        } while pruned != PruneCounts()
        context.note("what counts as old was confirmed or last listed before \(cutoff)")
        counts.add(try context.store.compact(), to: "bytes_freed")
        return .success
    }
}
