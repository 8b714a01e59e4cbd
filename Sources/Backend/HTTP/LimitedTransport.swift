public import BackendContract
public import ClarityScheduler
public import Platform
@preconcurrency import Glibc

/// The limits on what all processes that share a folder send to one backend together.
public struct SharedLimits: Hashable, Sendable {
    /// How many requests may begin in a second, 0.1 to 1000; `nil` for any number. They are spaced
    /// evenly: at 4 a second, a request begins 250 ms after the last one or later.
    public var requestsPerSecond: Double?
    /// How many requests may be under way at once, 1 to 1000; `nil` for any number.
    public var connections: Int?

    /// Creates limits.
    public init(requestsPerSecond: Double? = nil, connections: Int? = nil) {
        self.requestsPerSecond = requestsPerSecond
        self.connections = connections
    }
}

/// Where processes of several machines keep the limits of a backend together.
public protocol CommonLimits: Sendable {
    /// Takes the next turn if it comes within `patience`.
    ///
    /// - Parameter interval: the time between two turns.
    /// - Returns: how long to wait for the turn, also if it was not taken.
    func turn(
        every interval: Duration, within patience: Duration
    ) throws(TransportError) -> (wait: Duration, isTaken: Bool)

    /// Takes one of `count` connections, until what this returns is released; `nil` while all are
    /// taken.
    func connection(among count: Int) throws(TransportError) -> (any AnyObject & Sendable)?
}

/// Sends through another transport once the limits of the backend allow it.
///
/// A request first waits for one of the connections, then for its turn. In this order a request
/// whose turn has come is sent at once.
///
/// - A connection is a locked file: the kernel frees it when its process ends, however it ends.
/// - A connection is taken for one request. One that stays open for the next request, unused, does
///   not count.
/// - Nobody waits for ever. Of those that want a connection, one holds the lock of the queue and
///   takes the next that is free; a process that has just sent cannot overtake it. Those behind ask
///   for that lock at irregular intervals, each with the same chance. `SharedPace` keeps turns in
///   order. A wait ends after `longestWait`, or at the deadline.
/// - Of several machines with one state, `CommonLimits` has the connections and the turns. The queue
///   is each machine's.
///
/// While a request waits, nothing of it is sent: `TransportError.limited` means that the backend
/// got nothing.
public final class LimitedTransport: HTTPTransport {
    /// The longest wait of one request. A run that has to wait longer gives its process back.
    public static let longestWait = Duration.seconds(30)
    /// When a request for which no connection became free is worth another try.
    package static let busyWait = Duration.seconds(10)

    private let transport: any HTTPTransport
    private let clock: any WallClock
    private let deadline: Duration?
    private let pace: SharedPace?
    private let queue: LimitFile
    private let connections: [LimitFile]
    private let common: (any CommonLimits)?
    private let pause: @Sendable () -> Duration

    /// Creates a transport that limits `transport`.
    ///
    /// - Parameters:
    ///   - backend: the URL of the backend: each backend has limits of its own.
    ///   - folder: where the processes meet; created if its parent exists.
    ///   - boot: identifies what `clock.elapsed` counts from.
    ///   - deadline: the value of `clock.elapsed` until which a request may wait.
    ///   - common: where several machines keep the limits; `nil` if this one does alone.
    ///   - pause: the time between two looks at a lock that another process holds.
    public init(
        _ transport: any HTTPTransport, _ limits: SharedLimits, backend: String, folder: String,
        clock: any WallClock, boot: String = SystemClock().boot ?? "unknown",
        deadline: Duration? = nil, common: (any CommonLimits)? = nil,
        pause: @escaping @Sendable () -> Duration = { .milliseconds(Int.random(in: 5...25)) }
    ) {
        self.transport = transport
        self.clock = clock
        self.deadline = deadline
        self.common = common
        self.pause = pause
        let key = LimitedTransport.key(of: backend)
        pace = limits.requestsPerSecond.map {
            SharedPace(
                file: LimitFile(folder: folder, name: "\(key)-pace"),
                interval: .seconds(1 / $0), boot: boot)
        }
        queue = LimitFile(folder: folder, name: "\(key)-queue")
        connections = (0..<(limits.connections ?? 0)).map {
            LimitFile(folder: folder, name: "\(key)-connection-\($0)")
        }
    }

    /// Identifies a backend: its URL may hold a name that is nobody's business, and letters that no
    /// file name takes.
    public static func key(of backend: String) -> String {
        String(contentDigest(Array(backend.withoutSlashAtEnd.utf8)).prefix(16))
    }

    public var executor: (any TaskExecutor)? { transport.executor }

    public func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        let last = clock.elapsed + LimitedTransport.longestWait
        let end = min(last, deadline ?? last)
        let connection = try await connection(until: end)
        defer { withExtendedLifetime(connection) {} }
        try await turn(until: end)
        return try await transport.send(request)
    }

    /// Takes a connection; `nil` if there may be any number.
    private func connection(until end: Duration) async throws(TransportError) -> AnyObject? {
        guard !connections.isEmpty else { return nil }
        let place = try await wait(until: end) { () throws(TransportError) in try queue.lock() }
        defer { withExtendedLifetime(place) {} }
        return try await wait(until: end) { () throws(TransportError) -> AnyObject? in
            if let common { return try common.connection(among: connections.count) }
            for connection in connections {
                if let lock = try connection.lock() { return lock }
            }
            return nil
        }
    }

    /// Returns when the request may begin.
    private func turn(until end: Duration) async throws(TransportError) {
        guard let pace else { return }
        let turn = try await wait(until: end) {
            () throws(TransportError) -> SharedPace.Turn? in
            let now = clock.elapsed
            let patience = max(.zero, end - now)
            if let common {
                let turn = try common.turn(every: pace.interval, within: patience)
                return turn.isTaken ? .taken(wait: turn.wait) : .tooLate(wait: turn.wait)
            }
            let turn = try pace.take(at: now, patience: patience)
            return turn == .locked ? nil : turn
        }
        switch turn {
        case .taken(let wait):
            guard wait > .zero else { return }
            await clock.sleep(for: wait)
            if Task.isCancelled { throw .limited(after: wait) }
        case .tooLate(let wait): throw .limited(after: wait)
        case .locked: throw .limited(after: LimitedTransport.busyWait)
        }
    }

    /// Returns what `look` finds, as soon as it finds something.
    private func wait<Value>(
        until end: Duration, _ look: () throws(TransportError) -> Value?
    ) async throws(TransportError) -> Value {
        while true {
            if let found = try look() { return found }
            guard !Task.isCancelled, clock.elapsed < end else {
                throw .limited(after: LimitedTransport.busyWait)
            }
            // A look at a server costs more than one at a file.
            await clock.sleep(for: common == nil ? pause() : pause() * 4)
        }
    }
}

/// Spaces the requests of all processes that share a file.
///
/// The file holds the instant of the next free turn. A process that takes a turn moves that instant
/// on by one interval, under a lock (flock(2)) that it holds for this moment only, and then waits
/// for its turn without a lock. So turns are taken in the order of asking, nobody is overtaken, and
/// a killed process costs the others at most the turns that it had taken. This is the generic cell
/// rate algorithm (GCRA) without a burst: unused turns are not saved up.
struct SharedPace: Sendable {
    /// What a request for a turn leads to.
    enum Turn: Hashable, Sendable {
        /// The turn is taken; carries how long to wait for it.
        case taken(wait: Duration)
        /// Nothing was taken, because the wait would be longer than the caller's patience.
        case tooLate(wait: Duration)
        /// Another process holds the lock.
        case locked
    }

    /// Turns later than this come from a damaged file or another clock, and are ignored: no process
    /// waits longer than `LimitedTransport.longestWait`, and no interval is longer than 10 s.
    static let farthest = Duration.seconds(60)

    let file: LimitFile
    let interval: Duration
    /// Identifies the boot that the clock counts from: a turn of another boot has passed.
    let boot: String

    /// Takes the next turn if it comes within `patience`; `now` is the time since the boot.
    func take(at now: Duration, patience: Duration) throws(TransportError) -> Turn {
        guard let lock = try file.lock() else { return .locked }
        defer { withExtendedLifetime(lock) {} }
        let turn = max(now, next(in: try file.read(), at: now))
        guard turn - now <= patience else { return .tooLate(wait: turn - now) }
        try file.write(text(turn + interval))
        return .taken(wait: turn - now)
    }

    /// Returns the next free turn that `text` holds; `now` if there is none to respect.
    private func next(in text: String, at now: Duration) -> Duration {
        let words = text.split(whereSeparator: \.isWhitespace)
        guard words.count == 2, words[0] == boot, let number = Int64(words[1]) else { return now }
        let next = Duration.microseconds(number)
        return next - now <= SharedPace.farthest ? next : now
    }

    /// Of the same length for every turn of a boot, so that no write leaves a part of an old text.
    private func text(_ next: Duration) -> String {
        let (seconds, attoseconds) = next.components
        // Rounded up: a turn must not begin early.
        let number = String(
            seconds * 1_000_000 + (attoseconds + 999_999_999_999) / 1_000_000_000_000)
        return "\(boot) " + String(repeating: "0", count: max(0, 18 - number.count)) + number + "\n"
    }
}

/// A small file in the folder of the limits, accessible only to its owner.
struct LimitFile: Sendable {
    let folder: String
    let name: String

    private var path: String { "\(folder)/\(name)" }

    /// Locks the file, which is created if it is missing; `nil` while another holds the lock.
    func lock() throws(TransportError) -> FileLock? {
        do throws(SystemError) {
            return try FileLock.take(path, LOCK_EX, patience: .zero, makesFile: true)
        } catch {
            guard error.code == ENOENT, mkdir(folder, 0o700) == 0 || errno == EEXIST else {
                throw fault(error.code)
            }
        }
        // The folder was missing, and exists now.
        do throws(SystemError) {
            return try FileLock.take(path, LOCK_EX, patience: .zero, makesFile: true)
        } catch {
            throw fault(error.code)
        }
    }

    /// Returns the file's text.
    func read() throws(TransportError) -> String {
        do throws(WholeFile.Fault) {
            return String(decoding: try WholeFile.bytes(of: path, atMost: 4096), as: UTF8.self)
        } catch {
            // A file that is too large is not ours; it holds no turn.
            guard case .refused(let code) = error else { return "" }
            throw fault(code)
        }
    }

    /// Replaces the file's text.
    func write(_ text: String) throws(TransportError) {
        let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw fault(errno) }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        var count = pwrite(descriptor, bytes, bytes.count, 0)
        while count < 0, errno == EINTR { count = pwrite(descriptor, bytes, bytes.count, 0) }
        guard count >= 0 else { throw fault(errno) }
        // A short write means that the disk is full.
        guard count == bytes.count else { throw fault(ENOSPC) }
        guard ftruncate(descriptor, off_t(count)) == 0 else { throw fault(errno) }
    }

    private func fault(_ code: Int32) -> TransportError {
        .limitsUnusable(
            Failure(
                .disk,
                "cannot keep the backend's limits in `\(folder)`: "
                    + SystemError(code: code).text))
    }
}
