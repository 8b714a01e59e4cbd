import HealthModel
public import ClarityScheduler
public import Platform

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
///
/// While a request waits, nothing of it is sent: `TransportError.limited` means that the backend
/// got nothing.
public final class LimitedTransport: HTTPTransport {
    /// The longest wait of one request. A run that has to wait longer gives its process back.
    public static let longestWait = Duration.seconds(30)
    /// When a request for which no connection became free is worth another try.
    static let busyWait = Duration.seconds(10)

    private let transport: any HTTPTransport
    private let clock: any WallClock
    private let deadline: Duration?
    private let pace: SharedPace?
    private let queue: LimitFile
    private let connections: [LimitFile]
    private let pause: @Sendable () -> Duration

    /// Creates a transport that limits `transport`.
    ///
    /// - Parameters:
    ///   - backend: the URL of the backend: each backend has limits of its own.
    ///   - folder: where the processes meet; created if its parent exists.
    ///   - boot: identifies what `clock.elapsed` counts from.
    ///   - deadline: the value of `clock.elapsed` until which a request may wait.
    ///   - pause: the time between two looks at a lock that another process holds.
    public init(
        _ transport: any HTTPTransport, _ limits: SharedLimits, backend: String, folder: String,
        clock: any WallClock, boot: String = SystemClock().boot ?? "unknown",
        deadline: Duration? = nil,
        pause: @escaping @Sendable () -> Duration = { .milliseconds(Int.random(in: 5...25)) }
    ) {
        self.transport = transport
        self.clock = clock
        self.deadline = deadline
        self.pause = pause
        // The URL may hold a name that is nobody's business, and letters that no file name takes.
        let base = backend.withoutSlashAtEnd
        let key = contentDigest(Array(base.utf8)).prefix(16)
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
    private func connection(until end: Duration) async throws(TransportError) -> FileLock? {
        guard !connections.isEmpty else { return nil }
        let place = try await wait(until: end) { () throws(TransportError) in try queue.lock() }
        defer { withExtendedLifetime(place) {} }
        return try await wait(until: end) { () throws(TransportError) in
            for connection in connections {
                if let lock = try connection.lock() { return lock }
            }
            return nil
        }
    }

    /// Returns when the request may begin.
    private func turn(until end: Duration) async throws(TransportError) {
        guard let pace else { return }
        let turn = try await wait(until: end) { () throws(TransportError) in
            let now = clock.elapsed
            let turn = try pace.take(at: now, patience: max(.zero, end - now))
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
            await clock.sleep(for: pause())
        }
    }
}
