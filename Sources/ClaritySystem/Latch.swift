@preconcurrency import Glibc

/// A latch that opens once and that threads wait for with a timeout.
public final class Latch: Sendable {
    private let state = Monitor(false)

    /// Creates a closed latch.
    public init() {}

    /// Opens the latch for good.
    public func open() { state.change { $0 = true } }

    /// Waits until the latch is open, at most for so many milliseconds, and returns whether it is.
    public func isOpen(within milliseconds: Int32) -> Bool {
        var until = timespec()
        clock_gettime(CLOCK_MONOTONIC, &until)
        until.tv_sec += Int(milliseconds / 1000)
        until.tv_nsec += Int(milliseconds % 1000) * 1_000_000
        if until.tv_nsec >= 1_000_000_000 {
            until.tv_sec += 1
            until.tv_nsec -= 1_000_000_000
        }
        return state.change(when: { $0 }, before: until) { $0 }
    }
}
