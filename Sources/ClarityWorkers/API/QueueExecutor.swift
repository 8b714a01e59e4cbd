import Dispatch

/// Runs an actor's work on a thread of its own, one piece after the other.
///
/// For actors that block: on the shared pool, which has as many threads as the machine has cores,
/// a blocked thread holds up everybody's work.
final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    /// Creates an executor whose thread is named `label`.
    init(label: String) { queue = DispatchQueue(label: label) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
