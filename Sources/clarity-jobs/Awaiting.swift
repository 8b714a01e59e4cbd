import Dispatch
import Synchronization

/// Waits on this thread for what a task does.
///
/// The program's own thread is none of those that tasks share, so nobody misses it. Most commands
/// need no task, and would pay for the threads that run tasks as much as for all else they do.
func awaiting(
    _ work: @escaping @Sendable () async throws(CommandFailure) -> ExitStatus
) throws(CommandFailure) -> ExitStatus {
    let result = Promised()
    Task {
        do throws(CommandFailure) {
            result.keep(.success(try await work()))
        } catch {
            result.keep(.failure(error))
        }
    }
    return try result.wait().get()
}

/// A result that is there once it is kept.
private final class Promised: Sendable {
    private let kept = DispatchSemaphore(value: 0)
    private let result = Mutex<Result<ExitStatus, CommandFailure>>(
        .failure(CommandFailure(.internalFault, "ended without a word")))

    func keep(_ result: Result<ExitStatus, CommandFailure>) {
        self.result.withLock { $0 = result }
        kept.signal()
    }

    func wait() -> Result<ExitStatus, CommandFailure> {
        kept.wait()
        return result.withLock { $0 }
    }
}
