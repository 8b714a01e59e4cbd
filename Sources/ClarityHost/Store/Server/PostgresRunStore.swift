public import ClarityScheduler
public import Database

/// Stores runs in PostgreSQL, where any number of processes on any number of machines share them.
///
/// A decision is one transaction under the history's lock, as it is one under the file's write lock in
/// `SQLiteRunStore`, and both read and write by the same statements.
public final class PostgresRunStore: RunStore {
    private let connection: ServerConnection
    private var shared: SharedLedger
    private let place: String
    private let session: LeaseSession
    private let attemptLocks: AttemptLocks?
    /// Yields when another process has written, so that this one looks, and when the session that
    /// proves this process's leases has ended.
    public let changes: AsyncStream<Void>
    /// What this process's leases are held as.
    public let owner: String

    /// Ends when this loop is the one that decides, or its session has ended.
    public var turn: AsyncStream<Void> { session.turn }
    /// Whether this loop is the one that decides.
    public var hasTurn: Bool { session.hasTurn }

    /// Connects to the history of a server.
    ///
    /// - Parameters:
    ///   - owner: a name that no other process has or had.
    ///   - attemptLocks: the locks of this process's attempts.
    ///   - pulse: of a loop, of which one decides at a time (`turn`).
    ///   - patience: how long the server may take to answer.
    /// - Throws: `RunStoreError` if the server cannot be reached, or has no history.
    public init(
        at address: ServerAddress, owner: String, attemptLocks: AttemptLocks? = nil,
        pulse: LoopPulse? = nil, patience: Duration = .seconds(30)
    ) throws(RunStoreError) {
        self.owner = owner
        self.attemptLocks = attemptLocks
        let place = "\(address)"
        let (changes, continuation) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        (connection, shared, session) = try rethrowing(server: place) {
            // The decision of a loop that is cut off has the lock for which the next one waits.
            let connection = try ServerHistory.connect(
                to: address, patience: patience, cutOff: .seconds(pulse == nil ? 9 : 1))
            // A process that freezes within a decision must not keep the others from theirs.
            try connection.execute("SET idle_in_transaction_session_timeout = '5s'")
            let session = try LeaseSession(at: address, owner: owner, pulse: pulse) {
                continuation.yield()
            }
            let peers = ServerPeers(owner, attemptLocks)
            return (connection, SharedLedger(connection, peers), session)
        }
        (self.place, self.changes) = (place, changes)
    }

    /// Ends both sessions. Their owner opens another store in place of this one: a session that is
    /// left would keep the turn from it.
    public func end() {
        session.end()
        connection.close()
    }

    /// What the keeper of a command inherits: the session of the leases, and the memory that says
    /// until when they are certain.
    var proof: (socket: Int32, span: Int32) { session.proof }

    public func decide(_ decide: (Ledger) -> [LedgerChange]) throws(RunStoreError) {
        try rethrowing(server: place) {
            try demandSession()
            let written = try shared.decide(decide)
            attemptLocks?.remove(ended: written.changes)
            guard written.isNews else { return }
            do throws(DatabaseError) {
                // After the commit: within the transaction it would make all commits wait for each
                // other.
                try connection.run("SELECT pg_notify(?, '')", .text(ServerChannel.history))
            } catch {
                // The decision stands. The others look by themselves before long, and what failed
                // here fails again at the next decision, which says so.
            }
        }
    }

    public func ledger() throws(RunStoreError) -> Ledger {
        try rethrowing(server: place) {
            try demandSession()
            return try shared.ledger()
        }
    }

    /// Asks the server nothing once the leases are lost: it may still hear what it can no longer
    /// answer, and give the lock of the decisions to a loop that is cut off.
    private func demandSession() throws(DatabaseError) {
        if session.hasEnded { throw ServerPeers.sessionHasEnded }
    }

    /// Does nothing: the server tidies up by itself.
    public func tidy() {}
}

/// Runs `body`, and rethrows every failure of a server as a `RunStoreError`.
///
/// A damaged database on a server has no backup in a state directory that could be restored.
func rethrowing<Result>(
    server place: String, _ body: () throws -> Result
) throws(RunStoreError) -> Result {
    try rethrowing(place) {
        do {
            return try body()
        } catch let error as DatabaseError where error.isDamage {
            throw RunStoreError.unusable("cannot use history `\(place)`: \(error)")
        }
    }
}
