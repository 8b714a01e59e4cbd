import CLinux
import ClarityScheduler
import Glibc
import Synchronization

/// Asks the services of this machine over the system bus, and announces when their answers change.
///
/// The first call of `answers` connects, and waits for a moment. Nothing else waits, whatever the
/// bus and the services do. Asking a service never starts it.
final class SystemServices: Sendable {
    private struct State {
        let bus: SystemBus
        var answers: ServiceAnswers
        var isAsked = false
        /// Whether the first call of `answers` is waiting. Meanwhile only that call handles
        /// messages, because a message that another thread handles would not wake it.
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

    /// Prepares to ask. The first call of `answers` loads libsystemd and connects.
    ///
    /// - Parameters:
    ///   - clock: Dates the answers, and measures how long they take.
    ///   - address: The address of a bus to use instead of the system bus (D-Bus specification,
    ///     "Server Addresses").
    ///   - firstLook: The longest wait of the first call of `answers`.
    init(
        clock: any WallClock, address: String? = nil, firstLook: Duration = .milliseconds(250)
    ) {
        self.clock = clock
        self.firstLook = firstLook
        state = Mutex(State(SystemBus(ServiceAnswers.subscriptions, address: address)))
    }

    /// Returns the current answers.
    ///
    /// The first call waits until all services have answered or are known not to run, at most 250
    /// ms. Later calls return at once. They ask again what was last asked a minute ago or earlier,
    /// and a different answer is announced as a change. Without a bus they try to connect again, at
    /// most every 5 seconds.
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

    /// Returns a stream with an element whenever an answer changes in more than its time. It ends
    /// with its consumer.
    ///
    /// The stream is silent before the first call of `answers`, and if the process is out of
    /// descriptors.
    func changes(on events: EventThread) -> AsyncStream<Void> {
        events.elements(of: sources())
    }

    /// Opens the sources of that stream; empty if the process is out of descriptors.
    func sources() -> [EventSource<Void>] {
        let descriptor = state.withLock { $0.bus.descriptor }
        // Duplicates, because a stream closes its descriptors.
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
            // `look` wakes all listeners if an answer has changed, so this source never has an
            // element.
            EventSource(descriptor: bus) { [self] in
                state.withLock { if !$0.isSettling { look(&$0) } }
                return nil
            },
            // The source keeps the listener alive.
            .counter(bell) { _ in withExtendedLifetime(listener) {} },
        ]
    }

    /// Handles the messages that have arrived, and wakes the listeners if an answer has changed.
    private func look(_ state: inout State) {
        state.bus.step(at: clock.moment)
        let answers = ServiceAnswers(state.bus.service)
        let isNews = !answers.say(as: state.answers)
        state.answers = answers
        if isNews { for listener in state.listeners { listener.listener?.ring() } }
    }

    /// Waits until every request is answered or overdue, at most for `span`. Releases the lock
    /// while it waits.
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

/// Wakes a stream through an eventfd(2), even after the stream has closed its own descriptor.
private final class Listener: Sendable {
    private let descriptor: Int32

    /// Creates a listener that wakes the reader of `bell`, an eventfd(2) that somebody else closes.
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
