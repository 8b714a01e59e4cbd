import ClarityScheduler
import Dispatch

/// Runs a scheduler away from the threads that everything else shares, since it blocks its own for
/// as long as the store commits.
enum SchedulerThread {
    static func run(
        _ scheduler: Scheduler, until end: Scheduler.End, first: [Planner.Event] = [],
        events: AsyncStream<Planner.Event>
    ) async throws(CommandFailure) -> Scheduler.Report {
        var scheduler = scheduler
        do {
            return try await withTaskExecutorPreference(QueueExecutor()) {
                try await scheduler.run(until: end, first: first, events: events)
            }
        } catch let error as RunStoreError {
            throw CommandFailure(error)
        } catch {
            throw CommandFailure(.internalFault, "\(error)")
        }
    }
}

/// Runs tasks on a queue of its own.
private final class QueueExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "scheduler")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = asUnownedTaskExecutor()
        queue.async { @Sendable in job.runSynchronously(on: executor) }
    }
}
