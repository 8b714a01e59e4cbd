import CLinux
import ClarityScheduler
import Glibc
import Synchronization

/// Carries requests from tasks to the thread that watches an attempt.
///
/// A count and not a queue: a second warning says no more than the first.
final class AttemptRequests: Sendable {
    private static let warnUnit: UInt64 = 1
    private static let killUnit: UInt64 = 1 << 32

    /// An eventfd(2), -1 once closed; under the lock so that none writes to a number that has
    /// meanwhile become another file's.
    private let event: Mutex<Int32>

    init() throws(SystemError) {
        let number = clinux_eventfd()
        guard number >= 0 else { throw SystemError("make an event descriptor") }
        event = Mutex(number)
    }

    deinit { end() }

    /// The descriptor that is readable while a request waits; valid until `end()`.
    var readiness: Int32 { event.withLock { $0 } }

    /// Hands a request over; does nothing after `end()`.
    func send(_ signal: AttemptSignal) {
        var unit: UInt64 =
            switch signal {
            case .warn: AttemptRequests.warnUnit
            case .kill: AttemptRequests.killUnit
            }
        event.withLock { number in
            // Fails only when the count is full, and then the request already waits.
            if number >= 0 { _ = write(number, &unit, MemoryLayout<UInt64>.size) }
        }
    }

    /// Takes what waits; `kill` when both do, `nil` when nothing does.
    func take() -> AttemptSignal? {
        var count: UInt64 = 0
        let size = event.withLock { read($0, &count, MemoryLayout<UInt64>.size) }
        guard size == MemoryLayout<UInt64>.size else { return nil }
        return count >= AttemptRequests.killUnit ? .kill : .warn
    }

    /// Closes the descriptor, once the thread is done with it.
    func end() {
        event.withLock { number in
            if number >= 0 { close(number) }
            number = -1
        }
    }
}
