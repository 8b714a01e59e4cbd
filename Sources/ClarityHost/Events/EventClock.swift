import CLinux
public import ClarityScheduler
import ClaritySystem
import Glibc

/// The machine's own clock, which sleeps by means of an event thread.
public struct EventClock: WallClock {
    private let events: EventThread
    private let machine = SystemClock()

    /// Creates a clock whose sleeps end only while `events` runs.
    public init(_ events: EventThread) { self.events = events }

    public var now: Instant { machine.now }

    /// The time since the machine started, suspend included.
    public var elapsed: Duration { machine.elapsed }

    /// Returns after `span` of elapsed time, suspend included, or at once if the task is cancelled
    /// or `span` is not positive.
    ///
    /// More than 100 years count as 100 years. If the process is out of descriptors for a timer,
    /// the sleep ends up to a minute late after a suspend. `SystemClock` cannot replace the timer:
    /// it sleeps by means of libdispatch, which needs a descriptor too and traps without one.
    public func sleep(for span: Duration) async {
        guard span > .zero else { return }
        let longest = Duration.seconds(100 * 366 * 86_400)
        let bounded = min(span, longest)
        let (seconds, attoseconds) = bounded.components
        // A timer that is set to zero never fires.
        let nanoseconds = max(Int(attoseconds / 1_000_000_000), seconds == 0 ? 1 : 0)
        let timer = clinux_timer_after(Int(seconds), nanoseconds)
        guard timer >= 0 else {
            for await _ in events.alarm(after: bounded) {}
            return
        }
        for await _ in events.elements(of: [.counter(timer) { _ in }]) { return }
    }
}
