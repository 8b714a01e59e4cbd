import ClarityScheduler
import Platform
import Database
@preconcurrency import Glibc
import Synchronization
import CLinux

/// Proves that the holder of leases is alive, by a session that the server ends.
///
/// It has the mark of the holder's name, beats, and hears when another process has written. The
/// server ends it when the holder is killed, cut off or frozen, and then the leases lapse. It is
/// not the session of the decisions, which waits for locks.
///
/// A loop's session also waits for the lead, which one loop has at a time, and beats only
/// while the thread that decides comes round.
final class LeaseSession: Sendable {
    /// The time between two beats, in milliseconds.
    private static let beat: Int32 = 400
    /// The number of beats between two questions whether the deciding thread comes round.
    private static let beatsPerQuestion = 5
    /// The silence after which either side ends the session of a command. Nobody waits to take over
    /// from it, and its runs would be lost for nothing when a machine is busy for a moment.
    private static let commandTimeout: Duration = .seconds(10)
    /// How long before the server may end the session a keeper ends its command.
    private static let margin = Duration.milliseconds(200)

    private let ending = Bell()
    /// Ends when the session has the lead, or has ended.
    let turn: AsyncStream<Void>
    private let isLeading = Atomic(false)
    private let isOver = Atomic(false)
    private let thread = Mutex<JoinedThread?>(nil)
    /// Until when the server leaves the leases to this process.
    private let span: LeaseSpan
    /// A copy of the session's socket for keepers to inherit, which stays theirs to copy when the
    /// session has ended.
    private let socket: Int32
    /// What a keeper inherits: the session itself, and the memory of `span`.
    var proof: (socket: Int32, span: Int32) { (socket, span.descriptor) }

    /// Whether the session has ended, or the server does not answer on it any more.
    var hasEnded: Bool { isOver.load(ordering: .acquiring) }

    /// Whether the session has the lead.
    var isLeader: Bool { isLeading.load(ordering: .acquiring) }

    /// Marks a session for `owner` and begins to beat.
    ///
    /// - Parameters:
    ///   - pulse: of the loop whose session it is; `nil` for that of a command.
    ///   - hear: called on a thread of this session's when another process has written, and when
    ///     the session has ended.
    /// - Throws: `DatabaseError`; `SystemError` or `StateDirectoryError` if the system refuses.
    init(
        at address: ServerAddress, owner: String, pulse: LoopPulse?,
        hear: @escaping @Sendable () -> Void
    ) throws {
        let silence = pulse?.timeout ?? Self.commandTimeout
        let connection = try ServerConnection(address, patience: silence, cutOff: silence)
        try connection.execute("LISTEN \(ServerChannel.history)")
        try connection.execute("LISTEN \(ServerChannel.logins)")
        let mark = SessionMark.of(owner)
        try pulse?.newestMark.withLock { newest throws(DatabaseError) in
            try newest.map { former throws(DatabaseError) in try Self.end(former, connection) }
            newest = mark
        }
        try SessionMark.set(
            pulse == nil ? "clarity-run" : ServerHistory.loopKind, mark, note: Self.note(of: owner),
            on: connection)
        span = try LeaseSpan()
        span.extend(to: SystemClock().elapsed + silence - Self.margin)
        try connection.execute("SET idle_session_timeout = \(silence.milliseconds)")
        socket = fcntl(connection.socket, F_DUPFD_CLOEXEC, 0)
        guard ending.descriptor >= 0, socket >= 0 else {
            throw StateDirectoryError(path: "the session of the leases", errno: EMFILE)
        }
        // From here on, the thread alone uses the connection.
        nonisolated(unsafe) let handedOver = connection
        let (turn, waiting) = AsyncStream.makeStream(of: Void.self)
        self.turn = turn
        let started = try JoinedThread { [ending, span, weak self] in
            let beating = Beating(
                connection: handedOver, ending: ending, mark: mark, pulse: pulse, span: span,
                term: silence - Self.margin)
            beating.run(hear: hear) {
                self?.isLeading.store(true, ordering: .releasing)
                waiting.finish()
            }
            span.end()
            handedOver.close()
            self?.isOver.store(true, ordering: .releasing)
            waiting.finish()
            hear()
        }
        thread.withLock { $0 = started }
    }

    deinit {
        // Nobody waits here: this may be the thread that decides, and the session's own may wait
        // for a server that does not answer.
        ending.ring()
        thread.withLock { $0?.detach() }
        close(socket)
    }

    /// Ends the session and with it the leases.
    func end() {
        ending.ring()
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
    }

    /// Ends an earlier session of this same process if the server still has it: the process would
    /// wait for a lead of its own.
    private static func end(
        _ mark: String, _ connection: ServerConnection
    ) throws(DatabaseError) {
        try connection.run(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE usename = current_user AND datname = current_database()
                AND split_part(application_name, ' ', 2) = ?
            """, .text(mark))
    }

    /// The machine and the process of an owner, as `ServerHistory.owner` names it, in the bytes
    /// that the server leaves after the kind and the mark of a session.
    private static func note(of owner: String) -> String {
        let parts = owner.split(separator: "/", maxSplits: 1)
        guard parts.count == 2 else { return "" }
        let process = parts[1].prefix { $0 != "-" }
        return "\(parts[0].prefix(35 - process.utf8.count))/\(process)"
    }

    /// What the session's thread does.
    private struct Beating {
        let connection: ServerConnection
        let ending: Bell
        let mark: String
        let pulse: LoopPulse?
        let span: LeaseSpan
        /// How long after the beginning of a beat the leases are certain.
        let term: Duration

        /// Beats until the bell rings, the session ends, or the deciding thread is stuck.
        func run(hear: () -> Void, begin: () -> Void) {
            var isWaiting = pulse != nil
            var beats = 0
            var known = ""
            while true {
                if let pulse, beats % LeaseSession.beatsPerQuestion == 0,
                    pulse.silence() > pulse.longest
                {
                    return
                }
                beats += 1
                do throws(DatabaseError) {
                    if isWaiting, try ServerHistory.takeLead(as: mark, connection) {
                        isWaiting = false
                        begin()
                    }
                } catch {
                    // As below.
                    return
                }
                var descriptors = [
                    pollfd(fd: ending.descriptor, events: Int16(POLLIN), revents: 0),
                    pollfd(fd: connection.socket, events: Int16(POLLIN), revents: 0),
                ]
                poll(&descriptors, 2, LeaseSession.beat)
                guard descriptors[0].revents == 0 else { return }
                do throws(DatabaseError) {
                    // From before the beat: the server counts from when it arrives.
                    let sent = SystemClock().elapsed
                    let found = try beat(isLeading: pulse != nil && !isWaiting)
                    span.extend(to: sent + term)
                    let isHeard = try connection.takeNotifications().contains {
                        concerns($0, isLeading: pulse != nil && !isWaiting)
                    }
                    if isHeard || found != known { hear() }
                    // A follower that is frozen in a decision holds up the leader's.
                    let gone = Set(known.split(separator: " "))
                        .subtracting(found.split(separator: " "))
                    for mark in gone {
                        try ServerHistory.endDecision(of: String(mark), connection)
                    }
                    known = found
                } catch {
                    // The next decision finds the session gone, and says so.
                    return
                }
            }
        }

        /// Gives the server a sign of life.
        ///
        /// - Returns: the marks of all loops for the leader, which decides about the attempts of
        ///   those that are gone; else nothing.
        private func beat(isLeading: Bool) throws(DatabaseError) -> String {
            guard isLeading else {
                try connection.run("SELECT 1")
                return ""
            }
            return try connection.first(
                """
                SELECT coalesce(string_agg(split_part(application_name, ' ', 2), ' '
                    ORDER BY application_name), '')
                FROM pg_stat_activity WHERE usename = current_user
                    AND datname = current_database()
                    AND application_name LIKE '\(ServerHistory.loopKind) %'
                """
            ) { $0.text(0) } ?? ""
        }

        /// Whether a notification concerns this process. The leader and commands hear all; a
        /// follower hears what names it, and what names nobody.
        private func concerns(_ notification: ServerNotification, isLeading: Bool) -> Bool {
            pulse == nil || isLeading || notification.payload.isEmpty
                || notification.payload.split(separator: " ").contains { $0 == mark }
        }
    }
}

/// Until when a server leaves its runs to this process for certain, in memory that the keepers of
/// its commands share.
///
/// A keeper ends its command when the time is over. So a command of a loop that is frozen or cut
/// off has ended before the server lets another loop start it again.
final class LeaseSpan: @unchecked Sendable {
    // `@unchecked`: one aligned word, which one thread writes. The keepers read it as a whole.
    private let word: UnsafeMutablePointer<Int64>
    /// The memory, for a keeper to inherit.
    let descriptor: Int32

    private static let size = MemoryLayout<Int64>.size

    /// - Throws: `StateDirectoryError` if the system gives no memory.
    init() throws(StateDirectoryError) {
        descriptor = clinux_memory_file()
        guard descriptor >= 0, ftruncate(descriptor, LeaseSpan.size) == 0,
            let memory = mmap(
                nil, LeaseSpan.size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
            memory != MAP_FAILED
        else { throw StateDirectoryError(path: "the memory of the leases", errno: errno) }
        word = memory.bindMemory(to: Int64.self, capacity: 1)
    }

    deinit {
        munmap(word, LeaseSpan.size)
        close(descriptor)
    }

    /// Extends the time until `elapsed`, as the clock of elapsed time shows it.
    func extend(to elapsed: Duration) {
        let (seconds, attoseconds) = elapsed.components
        word.pointee = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    /// Ends the time now.
    func end() { word.pointee = 0 }
}

/// Shows whether the thread on which a loop decides still comes round.
///
/// A loop proves by a session of its own that it lives, and that session has a thread of its own. A
/// loop that is stuck would prove it for ever, and no other loop would decide in its place.
public final class LoopPulse: Sendable {
    /// How long the deciding thread may take to come round; by default twice the time that a
    /// decision waits for the database.
    let longest: Duration

    /// The silence after which either side ends the session of the loop. Another loop waits to take
    /// over.
    let timeout: Duration

    /// The mark of the newest session by which the process has proved that it lives.
    let newestMark = Mutex<String?>(nil)
    private let ask: @Sendable (_ answer: @escaping @Sendable () -> Void) -> Void
    /// When the question was asked that has no answer yet, in milliseconds awake; `Int64.max` if
    /// every question has its answer.
    private let askedAt = Atomic(Int64.max)

    /// Creates the pulse of a loop that decides on `events`.
    public convenience init(of events: EventThread) {
        self.init { answer in
            Task(executorPreference: events) { answer() }
        }
    }

    /// Creates a pulse.
    ///
    /// - Parameters:
    ///   - longest: how long the deciding thread may take to come round.
    ///   - timeout: the silence after which either side ends the session of the loop.
    ///   - ask: calls its argument on the thread that decides.
    public init(
        longest: Duration = .seconds(20), timeout: Duration = .milliseconds(1500),
        ask: @escaping @Sendable (_ answer: @escaping @Sendable () -> Void) -> Void
    ) {
        (self.longest, self.timeout, self.ask) = (longest, timeout, ask)
    }

    /// Asks the deciding thread for a sign of life, unless it owes one.
    ///
    /// - Returns: for how long it has owed one.
    func silence(at now: Duration = SystemClock().awake) -> Duration {
        let (isFirst, asked) = askedAt.compareExchange(
            expected: .max, desired: now.milliseconds, ordering: .relaxed)
        guard isFirst else { return now - .milliseconds(asked) }
        ask { [weak self] in self?.askedAt.store(.max, ordering: .relaxed) }
        return .zero
    }
}
