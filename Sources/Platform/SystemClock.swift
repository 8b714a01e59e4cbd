public import ClarityScheduler
import Glibc

/// The machine's own clock.
public struct SystemClock: WallClock {
    /// Creates the clock.
    public init() {}

    public var now: Instant {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Instant(
            millisecondsSince1970: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// The time since the machine started, including suspend.
    public var elapsed: Duration {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// The time since the machine started, excluding suspend.
    public var awake: Duration {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// The kernel's identifier of the current boot (proc(5), `random/boot_id`); `nil` if it cannot
    /// be read.
    public var boot: String? {
        do throws(WholeFile.Fault) {
            let line = try WholeFile.bytes(of: "/proc/sys/kernel/random/boot_id", atMost: 64)
            return line.count >= 36 ? String(decoding: line.prefix(36), as: UTF8.self) : nil
        } catch {
            return nil
        }
    }

    /// Returns after `span` of elapsed time, or at once if the task is cancelled or `span` is not
    /// positive.
    ///
    /// Elapsed time includes suspend. A span of more than 100 years counts as 100 years.
    public func sleep(for span: Duration) async {
        let longest = Duration.seconds(100 * 366 * 86_400)
        do {
            // ContinuousClock is CLOCK_BOOTTIME: closing a laptop's lid must not prolong a wait.
            try await Task.sleep(for: min(span, longest), clock: .continuous)
        } catch {
            // Only cancellation throws, and it ends the wait.
        }
    }
}

/// A clock that always shows the same instant, for questions about another time.
///
/// Spans are still measured by the machine's clock.
public struct FixedClock: WallClock {
    public let now: Instant
    private let machine = SystemClock()

    /// Creates a clock that shows `now`.
    public init(_ now: Instant) { self.now = now }

    /// The time since the machine started, suspend included.
    public var elapsed: Duration { machine.elapsed }

    /// Returns after `span` of elapsed time, or at once when the task is cancelled.
    public func sleep(for span: Duration) async { await machine.sleep(for: span) }
}
