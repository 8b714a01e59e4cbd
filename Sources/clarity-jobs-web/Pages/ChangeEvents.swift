import ClarityScheduler
import ClaritySystem
@preconcurrency import Glibc
import Synchronization

/// Tells browsers that the history has changed, as server-sent events.
///
/// One thread watches the state directory with inotify(7) for writes to the history, whichever
/// program makes them. A client that waits is a suspended connection and costs no thread.
final class ChangeEvents: Sendable {
    /// The most clients at the same time.
    static let most = 256
    private static let changed = Array("event: changed\ndata: {}\n\n".utf8)
    /// Shows both sides that the other one is there.
    private static let beat = Array(": still here\n\n".utf8)

    private struct State {
        var clients: [ObjectIdentifier: Client] = [:]
    }

    private let state = Mutex(State())
    private let folder: String

    init(stateDirectory: String) { folder = stateDirectory }

    /// Begins to watch; returns `false` if the system gives no thread or no watch.
    func start() -> Bool {
        let watch = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        guard watch >= 0 else { return false }
        return DetachedThread.start { [self] in run(watch) } == 0
    }

    /// Returns a stream for a client, which ends with its session; `nil` if there are too many.
    func client(until end: ContinuousClock.Instant) -> (any AnswerStream)? {
        let client = Client(self, until: end)
        return state.withLock { state in
            guard state.clients.count < ChangeEvents.most else { return nil }
            state.clients[ObjectIdentifier(client)] = client
            return client
        }
    }

    private func run(_ watch: Int32) {
        var plan = EventPlan(at: .now)
        while true {
            // The folder may be created later, or be another one after a restore.
            inotify_add_watch(watch, folder, UInt32(IN_MODIFY | IN_MOVED_TO))
            var set = pollfd(fd: watch, events: Int16(POLLIN), revents: 0)
            let wait = plan.next - ContinuousClock.now
            poll(&set, 1, wait > .zero ? Int32(clamping: wait.milliseconds + 1) : 0)
            let now = ContinuousClock.now
            if ChangeEvents.isChanged(watch) { plan.noteChange(at: now) }
            let due = plan.take(at: now)
            guard due.isChanged || due.isBeat else { continue }
            for client in state.withLock({ Array($0.clients.values) }) {
                if due.isChanged { client.send(ChangeEvents.changed) }
                if due.isBeat { client.send(ChangeEvents.beat) }
                client.endIfOver(at: now)
            }
        }
    }

    /// Reads the pending events, and returns whether the history was written to.
    private static func isChanged(_ watch: Int32) -> Bool {
        var isChanged = false
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(watch, &buffer, buffer.count)
            guard count > 0 else { return isChanged }
            var offset = 0
            while offset + MemoryLayout<inotify_event>.size <= count {
                let (mask, length) = buffer.withUnsafeBytes { bytes in
                    let event = bytes.loadUnaligned(
                        fromByteOffset: offset, as: inotify_event.self)
                    return (event.mask, Int(event.len))
                }
                let start = offset + MemoryLayout<inotify_event>.size
                let name = buffer[start..<min(start + length, count)].prefix { $0 != 0 }
                // After an overflow, any event may be missing.
                if mask & UInt32(IN_Q_OVERFLOW) != 0
                    || ["history.db", "history.db-wal"].contains(
                        String(decoding: name, as: UTF8.self))
                {
                    isChanged = true
                }
                offset = start + length
            }
        }
    }

    /// A browser that listens.
    private final class Client: AnswerStream {
        private struct State {
            /// Sent at once, so that the browser knows that it is connected.
            var pending = Array("retry: 2000\n\n".utf8)
            var isOver = false
            var connection: ResumableConnection?
        }

        private let state = Mutex(State())
        private unowned let events: ChangeEvents
        private let end: ContinuousClock.Instant

        init(_ events: ChangeEvents, until end: ContinuousClock.Instant) {
            (self.events, self.end) = (events, end)
        }

        func next(room: Int, suspend: () -> ResumableConnection?) -> [UInt8]? {
            state.withLock { state in
                guard state.pending.isEmpty else {
                    let part = Array(state.pending.prefix(room))
                    state.pending.removeFirst(part.count)
                    return part
                }
                if state.isOver { return [] }
                state.connection = suspend()
                return nil
            }
        }

        func abandon() {
            events.state.withLock { _ = $0.clients.removeValue(forKey: ObjectIdentifier(self)) }
        }

        func send(_ event: [UInt8]) {
            state.withLock { state in
                // A browser that does not read learns of one change as well as of many.
                if state.pending.count < 1024 { state.pending += event }
                state.connection?.resume()
                state.connection = nil
            }
        }

        func endIfOver(at now: ContinuousClock.Instant) {
            guard now >= end else { return }
            state.withLock { state in
                state.isOver = true
                state.connection?.resume()
                state.connection = nil
            }
        }
    }
}

/// When clients hear of what.
struct EventPlan {
    /// The time between two signs of life.
    static let beat = Duration.seconds(15)
    /// How long changes are collected, so that many of them are one event.
    static let delay = Duration.milliseconds(200)

    private var nextBeat: ContinuousClock.Instant
    private var changeDue: ContinuousClock.Instant?

    init(at now: ContinuousClock.Instant) { nextBeat = now + EventPlan.beat }

    /// When something is due next.
    var next: ContinuousClock.Instant { min(nextBeat, changeDue ?? nextBeat) }

    mutating func noteChange(at now: ContinuousClock.Instant) {
        changeDue = changeDue ?? now + EventPlan.delay
    }

    /// Returns what is due, and forgets it.
    mutating func take(
        at now: ContinuousClock.Instant
    ) -> (isChanged: Bool, isBeat: Bool) {
        let isChanged = changeDue.map { $0 <= now } ?? false
        let isBeat = nextBeat <= now
        if isChanged { changeDue = nil }
        if isBeat { nextBeat = now + EventPlan.beat }
        return (isChanged, isBeat)
    }
}
