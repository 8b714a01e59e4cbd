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
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 36)
        guard read(descriptor, &bytes, bytes.count) == bytes.count else { return nil }
        return String(decoding: bytes, as: UTF8.self)
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
