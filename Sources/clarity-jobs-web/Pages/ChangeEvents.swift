import ClarityHost
import HTTPServing
import ClarityScheduler
import Platform
@preconcurrency import Glibc
import Synchronization

/// Tells browsers that the history has changed, as server-sent events.
///
/// One thread watches the state directory with inotify(7) for writes to the history and to what
/// running attempts have written so far, whichever program makes them. A client that waits is a suspended connection and costs no thread.
final class ChangeEvents: Sendable {
    /// The most clients at the same time.
    static let most = 256
    private static let changed = Array("event: changed\ndata: {}\n\n".utf8)
    /// Shows both sides that the other one is there.
    private static let beat = Array(": still here\n\n".utf8)

    /// In the order in which they came.
    private let clients = Mutex<[Client]>([])
    /// Where the history is, where the sessions are, and where running attempts write.
    private let folder, pages, attempts: String

    init(stateDirectory: String) {
        folder = stateDirectory
        pages = "\(stateDirectory)/pages"
        attempts = "\(stateDirectory)/attempts"
    }

    /// Begins to watch; returns `false` if the system gives no thread or no watch.
    func start() -> Bool {
        guard let watch = Inotify() else { return false }
        return DetachedThread.start { [self] in run(watch) } == 0
    }

    /// Returns a stream for a client, which ends once `isOver` holds. If there are too many, the
    /// oldest of whoever has the most ends; `nil` if that would be this person.
    func client(
        of person: String, until isOver: @escaping @Sendable () -> Bool
    ) -> (any AnswerStream)? {
        let client = Client(self, person, until: isOver)
        let (isTaken, victim) = clients.withLock { clients -> (Bool, Client?) in
            var victim: Client?
            if clients.count >= ChangeEvents.most {
                var counts: [String: Int] = [:]
                for client in clients { counts[client.person, default: 0] += 1 }
                guard let most = counts.max(by: { $0.value < $1.value }),
                    most.value > counts[person, default: 0] + 1,
                    let place = clients.firstIndex(where: { $0.person == most.key })
                else { return (false, nil) }
                victim = clients.remove(at: place)
            }
            clients.append(client)
            return (true, victim)
        }
        victim?.end()
        return isTaken ? client : nil
    }

    private func run(_ watch: Inotify) {
        var plan = EventPlan(at: .now)
        while true {
            // The folder may be created later, or be another one after a restore.
            watch.watch(folder, IN_MODIFY | IN_MOVED_TO)
            watch.watch(pages, IN_MODIFY | IN_MOVED_TO)
            watch.watch(attempts, IN_MODIFY)
            var set = pollfd(fd: watch.descriptor, events: Int16(POLLIN), revents: 0)
            let wait = plan.next - ContinuousClock.now
            poll(&set, 1, wait > .zero ? Int32(clamping: wait.milliseconds + 1) : 0)
            let now = ContinuousClock.now
            let changes = ChangeEvents.changes(watch)
            if changes.history { plan.noteChange(at: now, EventPlan.delay) }
            if changes.output { plan.noteChange(at: now, EventPlan.outputDelay) }
            let due = plan.take(at: now)
            guard due.isChanged || due.isBeat || changes.sessions else { continue }
            for client in clients.withLock(\.self) {
                if due.isChanged { client.send(ChangeEvents.changed) }
                if due.isBeat { client.send(ChangeEvents.beat) }
                client.endIfOver()
            }
        }
    }

    /// Reads the pending events, and returns whether the history was written to, whether the sessions
    /// have changed, and whether a running attempt wrote something or made progress.
    private static func changes(
        _ watch: Inotify
    ) -> (history: Bool, sessions: Bool, output: Bool) {
        var changes = (history: false, sessions: false, output: false)
        for event in watch.events() {
            // After an overflow, any event may be missing.
            let isLost = event.isAny(IN_Q_OVERFLOW)
            if isLost || ["history.db", "history.db-wal"].contains(event.name) {
                changes.history = true
            }
            if isLost || event.name == "sessions" { changes.sessions = true }
            if LiveAttempts.isOutput(event.name) { changes.output = true }
        }
        return changes
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
        let person: String
        private unowned let events: ChangeEvents
        private let isOver: @Sendable () -> Bool

        init(
            _ events: ChangeEvents, _ person: String, until isOver: @escaping @Sendable () -> Bool
        ) {
            (self.events, self.person, self.isOver) = (events, person, isOver)
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
            events.clients.withLock { $0.removeAll { $0 === self } }
        }

        func send(_ event: [UInt8]) {
            state.withLock { state in
                // A browser that does not read learns of one change as well as of many.
                if state.pending.count < 1024 { state.pending += event }
                state.connection?.resume()
                state.connection = nil
            }
        }

        func endIfOver() { if isOver() { end() } }

        /// Ends the stream, after what is pending.
        func end() {
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
    /// The same for what a running attempt writes, which may be much.
    static let outputDelay = Duration.seconds(2)

    private var nextBeat: ContinuousClock.Instant
    private var changeDue: ContinuousClock.Instant?

    init(at now: ContinuousClock.Instant) { nextBeat = now + EventPlan.beat }

    /// When something is due next.
    var next: ContinuousClock.Instant { min(nextBeat, changeDue ?? nextBeat) }

    mutating func noteChange(at now: ContinuousClock.Instant, _ delay: Duration) {
        changeDue = min(changeDue ?? now + delay, now + delay)
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
