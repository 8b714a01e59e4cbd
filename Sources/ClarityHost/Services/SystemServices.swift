import CLinux
import ClarityScheduler
import Glibc
import Synchronization

/// Asks the services of this machine over the system's message bus, and hears when they say
/// something else.
///
/// The first question connects and waits a little for the first answers; nothing else waits, whatever
/// the bus and the services do. Nobody is started to be asked.
final class SystemServices: Sendable {
    private struct State {
        let bus: SystemBus
        var answers: ServiceAnswers
        var isAsked = false
        /// Whether the first call of `answers` waits. It alone takes what comes meanwhile: what
        /// another took would not wake it.
        var isSettling = false
        var listeners: [WeakListener] = []

        init(_ bus: SystemBus) {
            self.bus = bus
            answers = ServiceAnswers(bus.service)
        }
    }

    private struct WeakListener {
        weak var listener: Listener?
    }

    private let clock: any WallClock
    private let firstLook: Duration
    private let state: Mutex<State>

    /// Prepares to ask; nothing is connected or loaded before the first call of `answers`.
    ///
    /// - Parameters:
    ///   - clock: Dates what is said, and measures how long an answer takes.
    ///   - address: Another bus than the system's (D-Bus specification, "Server Addresses").
    ///   - firstLook: The most that the first call of `answers` waits.
    init(
        clock: any WallClock, address: String? = nil, firstLook: Duration = .milliseconds(250)
    ) {
        self.clock = clock
        self.firstLook = firstLook
        state = Mutex(State(SystemBus(ServiceAnswers.interests, address: address)))
    }

    /// What is known now.
    ///
    /// The first call waits until all services have answered or do not run, 250 ms at most. The others
    /// return at once: what was said more than a minute ago is asked again, what comes back is
    /// announced as a change if it is one, and without a bus another try to connect is begun, every
    /// 5 seconds at most.
    func answers() -> ServiceAnswers {
        let isFirst = state.withLock { state in
            defer { state.isAsked = true }
            guard !state.isSettling else { return false }
            state.bus.refresh(at: clock.moment)
            look(&state)
            state.isSettling = !state.isAsked
            return state.isSettling
        }
        if isFirst { settle(within: firstLook) }
        return state.withLock { $0.answers }
    }

    /// An element whenever `answers` would say something else than before, other than of time; the
    /// stream ends with its consumer.
    ///
    /// It is silent before the first call of `answers`, and where the process has no descriptor left.
    func changes(on events: EventThread) -> AsyncStream<Void> {
        events.elements(of: sources())
    }

    /// What that stream listens to; nothing where the process has no descriptor left.
    func sources() -> [EventSource<Void>] {
        let descriptor = state.withLock { $0.bus.descriptor }
        // Copies, since a stream closes what it listens to.
        let bus = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        let bell = clinux_eventfd()
        guard bus >= 0, bell >= 0, let listener = Listener(bell) else {
            [bus, bell].filter { $0 >= 0 }.forEach { close($0) }
            return []
        }
        state.withLock { state in
            state.listeners.removeAll { $0.listener == nil }
            state.listeners.append(WeakListener(listener: listener))
        }
        return [
            // Whoever looks first rings for all, so that looking by itself is no news.
            EventSource(descriptor: bus) { [self] in
                state.withLock { if !$0.isSettling { look(&$0) } }
                return nil
            },
            // The source keeps the listener for as long as it is listened to.
            .counter(bell) { _ in withExtendedLifetime(listener) {} },
        ]
    }

    /// Takes what has come, and tells the listeners if that says something else.
    private func look(_ state: inout State) {
        state.bus.step(at: clock.moment)
        let answers = ServiceAnswers(state.bus.service)
        let isNews = !answers.say(as: state.answers)
        state.answers = answers
        if isNews { for listener in state.listeners { listener.listener?.ring() } }
    }

    /// Waits until everything that was asked is answered; does not keep the lock meanwhile.
    private func settle(within span: Duration) {
        let end = ContinuousClock.now + span
        while true {
            let left = end - .now
            let (isSettling, descriptor) = state.withLock { state in
                look(&state)
                state.isSettling = !state.bus.isSettled && left > .zero
                return (state.isSettling, state.bus.descriptor)
            }
            guard isSettling else { return }
            var bus = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
            poll(&bus, 1, Int32(clamping: left.milliseconds + 1))
        }
    }
}

/// A bell that wakes a listener; it can be rung after the listener has gone.
private final class Listener: Sendable {
    private let descriptor: Int32

    /// Creates one that rings `bell`, an eventfd(2) that somebody else closes.
    init?(_ bell: Int32) {
        descriptor = fcntl(bell, F_DUPFD_CLOEXEC, 0)
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    func ring() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
    }
}
