import CLinux
import ClarityScheduler
import Platform
import Glibc
import Synchronization

extension ProcessAttempt {
    /// Starts a process, watches it on a thread of its own, passes signals on to it, and returns
    /// when it has been reaped; cancelling the task kills it. A task that is cancelled already
    /// starts none.
    ///
    /// The parameters are those of `init`.
    ///
    /// - Throws: `SystemError` if the process cannot be started or watched.
    static func run(
        _ text: [UInt8], memoryLimitBytes: Int64, _ listener: Listener,
        _ signals: AsyncStream<AttemptSignal>, _ progress: @escaping ProgressHandler,
        start:
            @escaping @Sendable (
                _ reads: borrowing Descriptor, _ writes: borrowing Descriptor
            ) throws(SystemError) -> pid_t
    ) async throws(SystemError) -> AttemptEnd {
        guard !Task.isCancelled else {
            return AttemptEnd(.broke(.notStarted("cancelled before it started")))
        }
        let requests = try AttemptRequests()
        defer { requests.end() }
        return try await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await signal in signals { requests.send(signal) }
                }
                defer { group.cancelAll() }
                do throws(SystemError) {
                    return try await AttemptThread.run {
                        do throws(SystemError) {
                            let attempt = try ProcessAttempt(
                                text, memoryLimitBytes: memoryLimitBytes, listener, start: start)
                            return Result<AttemptEnd, SystemError>.success(
                                attempt.run(requests, progress))
                        } catch {
                            return .failure(error)
                        }
                    }
                } catch {
                    return .failure(error)
                }
            }
        } onCancel: {
            requests.send(.kill)
        }.get()
    }
}

/// Carries requests from tasks to the thread that watches an attempt.
///
/// Counts requests instead of queueing them: a second warning adds nothing to the first.
final class AttemptRequests: Sendable {
    private static let warnUnit: UInt64 = 1
    private static let killUnit: UInt64 = 1 << 32

    /// An eventfd(2), or -1 once closed. The lock keeps a task from writing to a number that has
    /// meanwhile been reused for another file.
    private let event: Mutex<Int32>

    init() throws(SystemError) {
        let number = clinux_eventfd()
        guard number >= 0 else { throw SystemError("make an event descriptor") }
        event = Mutex(number)
    }

    deinit { end() }

    /// The descriptor, readable while a request is pending; valid until `end()`.
    var readiness: Int32 { event.withLock { $0 } }

    /// Sends a request; does nothing after `end()`.
    func send(_ signal: AttemptSignal) {
        var unit: UInt64 =
            switch signal {
            case .warn: AttemptRequests.warnUnit
            case .kill: AttemptRequests.killUnit
            }
        event.withLock { number in
            // This fails only if the counter is full, and then the request is already pending.
            if number >= 0 { _ = write(number, &unit, MemoryLayout<UInt64>.size) }
        }
    }

    /// Takes the pending requests: `kill` if both are pending, `nil` if none is.
    func take() -> AttemptSignal? {
        var count: UInt64 = 0
        let size = event.withLock { read($0, &count, MemoryLayout<UInt64>.size) }
        guard size == MemoryLayout<UInt64>.size else { return nil }
        return count >= AttemptRequests.killUnit ? .kill : .warn
    }

    /// Closes the descriptor, once the thread no longer uses it.
    func end() {
        event.withLock { number in
            if number >= 0 { close(number) }
            number = -1
        }
    }
}

/// Runs blocking work on a thread of its own, so that it does not block a thread of Swift's pool,
/// which has one per processor.
enum AttemptThread {
    /// Calls `body` on a new thread, and returns its result.
    ///
    /// The thread receives no signals; a write to a pipe without a reader fails with EPIPE.
    ///
    /// - Throws: `SystemError` if the system cannot create a thread; `body` is then not called.
    static func run<Result: Sendable>(
        _ body: @escaping @Sendable () -> Result
    ) async throws(SystemError) -> Result {
        let outcome: Swift.Result<Result, SystemError> = await withCheckedContinuation {
            continuation in
            let code = DetachedThread.start { continuation.resume(returning: .success(body())) }
            if code != 0 {
                continuation.resume(returning: .failure(SystemError("start a thread", code: code)))
            }
        }
        return try outcome.get()
    }
}
