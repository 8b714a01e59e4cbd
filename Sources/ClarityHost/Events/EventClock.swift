import CLinux
public import ClarityScheduler
import ClaritySystem
import Glibc

/// The machine's own clock, whose waits are those of an event thread.
public struct EventClock: WallClock {
    private let events: EventThread
    private let machine = SystemClock()

    /// Creates a clock whose waits need `events` to run.
    public init(_ events: EventThread) { self.events = events }

    public var now: Instant { machine.now }

    /// The time since the machine started, suspend included.
    public var elapsed: Duration { machine.elapsed }

    /// Returns after `span` of elapsed time, the time that the machine was suspended included, or
    /// at once when the task is cancelled or `span` is not above zero.
    ///
    /// More than 100 years count as 100 years. Where the process has no descriptor left for a timer,
    /// it is up to a minute late after a suspend. `SystemClock` would not do there: libdispatch, by
    /// which it waits, needs a descriptor as well, and traps when it gets none.
    public func sleep(for span: Duration) async {
        guard span > .zero else { return }
        let longest = Duration.seconds(100 * 366 * 86_400)
        let bounded = min(span, longest)
        let (seconds, attoseconds) = bounded.components
        // A timer that is set to nothing never rings.
        let nanoseconds = max(Int(attoseconds / 1_000_000_000), seconds == 0 ? 1 : 0)
        let timer = clinux_timer_after(Int(seconds), nanoseconds)
        guard timer >= 0 else {
            for await _ in events.alarm(after: bounded) {}
            return
        }
        for await _ in events.elements(of: [.counter(timer) { _ in }]) { return }
    }
}
