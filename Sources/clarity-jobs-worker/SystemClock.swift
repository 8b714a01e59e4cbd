import ClarityScheduler
@preconcurrency import Glibc

/// The machine's clock.
struct SystemClock: WallClock {
    var elapsed: Duration {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    var now: Instant {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Instant(
            millisecondsSince1970: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    func sleep(for span: Duration) async {
        do {
            try await Task.sleep(for: span)
        } catch {
            // Cancelled, which ends the sleep: that is what the protocol asks for.
            return
        }
    }
}
