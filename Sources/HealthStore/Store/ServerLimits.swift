import Database
import Synchronization

/// The limits of one backend that processes of several machines keep together, on the server that
/// has their state.
///
/// A turn is an instant in a row, which each request moves on in one statement, by the server's
/// clock. A connection is a locked row: the server frees it when the session ends that has locked
/// it. The rows are everybody's, since a backend counts the requests of all accounts. An account's
/// role that keeps them locked makes the uploads of others wait, as one that locks their tables.
public final class ServerLimits: Sendable {
    /// What a request for a turn leads to.
    public struct Turn: Hashable, Sendable {
        /// How long to wait for the turn; how long it would be if it was not taken.
        public var wait: Duration
        public var isTaken: Bool
    }

    /// `@unchecked`: only who has taken a session uses its connection, and `State.idle` has those
    /// that nobody has taken.
    private final class Session: @unchecked Sendable {
        let connection: Connection

        init(_ connection: Connection) { self.connection = connection }
    }

    /// One of the connections, until it is released.
    private final class Place: Sendable {
        private let session: Session
        private let limits: ServerLimits

        init(_ session: Session, of limits: ServerLimits) {
            (self.session, self.limits) = (session, limits)
        }

        deinit {
            do {
                try session.connection.execute("COMMIT")
                limits.keep(session)
            } catch {
                // The session has failed, and its lock has ended with it.
            }
        }
    }

    private let backend: String
    /// The server for messages.
    private let name: String
    private let connect: @Sendable () throws -> Connection
    private let state = Mutex(State())

    private struct State {
        var idle: [Session] = []
        /// The number of connections for which there are rows.
        var places = 0
    }

    init(of backend: String, at place: HealthServerPlace) {
        (self.backend, name) = (backend, place.name)
        connect = {
            let connection = try place.connect()
            // A connection to the backend is locked for as long as a request takes.
            try connection.execute("SET idle_in_transaction_session_timeout = 0")
            return connection
        }
    }

    /// Takes the next turn if it comes within `patience`.
    ///
    /// - Parameter interval: the time between two turns.
    public func turn(
        every interval: Duration, within patience: Duration
    ) throws(HealthStoreError) -> Turn {
        let interval = interval / .microseconds(1)
        return try using { connection in
            while true {
                let taken = try connection.first(
                    LimitSQL.take, .integer(Int64(interval)), .text(backend),
                    .integer(Int64(patience / .microseconds(1)))
                ) { Duration.microseconds($0.integer(0) - Int64(interval)) }
                if let taken { return Turn(wait: max(.zero, taken), isTaken: true) }
                let next = try connection.first(LimitSQL.look, .text(backend)) {
                    Duration.microseconds($0.integer(0))
                }
                if let next, next > patience { return Turn(wait: next, isTaken: false) }
                if next == nil { try connection.run(LimitSQL.begin, .text(backend)) }
            }
        }
    }

    /// Takes one of `count` connections, until what this returns is released; `nil` while all are
    /// taken.
    public func connection(
        among count: Int
    ) throws(HealthStoreError) -> (any AnyObject & Sendable)? {
        try HealthStore.describing(name) { try place(among: count) }
    }

    private func place(among count: Int) throws -> Place? {
        let session = try take()
        let (connection, number) = (session.connection, Int64(count))
        if state.withLock({ $0.places < count }) {
            try connection.run(LimitSQL.makePlaces, .text(backend), .integer(number))
            state.withLock { $0.places = max($0.places, count) }
        }
        try connection.execute("BEGIN")
        if try connection.integer(LimitSQL.lock, .text(backend), .integer(number)) != nil {
            return Place(session, of: self)
        }
        try connection.execute("ROLLBACK")
        keep(session)
        return nil
    }

    private func using<Result>(
        _ body: (Connection) throws -> Result
    ) throws(HealthStoreError) -> Result {
        try HealthStore.describing(name) {
            let session = try take()
            let result = try body(session.connection)
            keep(session)
            return result
        }
    }

    private func take() throws -> Session {
        if let session = state.withLock({ $0.idle.popLast() }) { return session }
        return Session(try connect())
    }

    private func keep(_ session: Session) { state.withLock { $0.idle.append(session) } }
}

/// The statements of the limits.
private enum LimitSQL {
    /// The next free turn. One that is far ahead was not taken by the rules.
    private static let free = """
        CASE WHEN next_at > clock_timestamp() + interval '60 s' THEN clock_timestamp()
            ELSE greatest(next_at, clock_timestamp()) END
        """
    /// The microseconds until an instant, rounded up: no turn begins early.
    private static func microseconds(until instant: String) -> String {
        "ceil(extract(epoch FROM \(instant) - clock_timestamp()) * 1000000)::bigint"
    }

    static let take = """
        UPDATE backend_turns SET next_at = \(free) + make_interval(secs => ?::bigint / 1000000.0)
        WHERE backend = ?
            AND \(free) <= clock_timestamp() + make_interval(secs => ?::bigint / 1000000.0)
        RETURNING \(microseconds(until: "next_at"))
        """
    static let look = """
        SELECT \(microseconds(until: free)) FROM backend_turns WHERE backend = ?
        """
    static let begin = """
        INSERT INTO backend_turns (backend, next_at) VALUES (?, clock_timestamp())
        ON CONFLICT DO NOTHING
        """
    static let lock = """
        SELECT number FROM backend_connections WHERE backend = ? AND number < ?
        ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED
        """
    static let makePlaces = """
        INSERT INTO backend_connections (backend, number)
        SELECT ?, generate_series(0, ?::bigint - 1) ON CONFLICT DO NOTHING
        """
}

extension HealthStore {
    /// Returns the limits of a backend that all machines keep; `nil` if the data is in files, so that
    /// there is one machine.
    ///
    /// - Parameter backend: identifies it, and is not its address.
    public func serverLimits(of backend: String) -> ServerLimits? {
        place.server.map { ServerLimits(of: backend, at: $0) }
    }
}
