import CLinux
import ClarityScheduler
import Glibc
import Synchronization

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
