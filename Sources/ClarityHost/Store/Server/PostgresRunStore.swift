public import ClarityScheduler
public import Database

/// Stores runs in PostgreSQL, where any number of processes on any number of machines share them.
///
/// A decision is one transaction under the history's lock, as it is one under the file's write lock
/// in `SQLiteRunStore`, and both read and write by the same statements.
public final class PostgresRunStore: RunStore {
    private let connection: ServerConnection
    private var shared: SharedLedger
    private let place: String
    private let session: LeaseSession
    private let attemptLocks: AttemptLocks?
    private let peers: ServerPeers
    private let isLoop: Bool
    /// Yields when another process has written, so that this one looks, and when the session that
    /// proves this process's leases has ended.
    public let changes: AsyncStream<Void>
    /// What this process's leases are held as.
    public let owner: String
    /// How far its attempts are.
    let progress = ProgressBoard()

    /// Ends when this loop is the one that decides, or its session has ended.
    public var turn: AsyncStream<Void> { session.turn }
    /// Whether this loop is the one that decides.
    public var isLeader: Bool { session.isLeader }

    /// Connects to the history of a server.
    ///
    /// - Parameters:
    ///   - owner: a name that no other process has or had.
    ///   - attemptLocks: the locks of this process's attempts.
    ///   - pulse: of a loop, of which one is the leader at a time (`turn`).
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
        let peers = ServerPeers(owner, attemptLocks)
        (self.peers, isLoop) = (peers, pulse != nil)
        (connection, shared, session) = try rethrowing(server: place) {
            // The decision of a loop that is cut off has the lock for which the next one waits.
            let connection = try ServerHistory.connect(
                to: address, patience: patience, cutOff: .seconds(pulse == nil ? 9 : 1))
            // A process that freezes within a decision must not keep the others from theirs.
            try connection.execute("SET idle_in_transaction_session_timeout = '5s'")
            if pulse != nil { try ServerHistory.nameDecisions(of: owner, connection) }
            let session = try LeaseSession(at: address, owner: owner, pulse: pulse) {
                continuation.yield()
            }
            return (connection, SharedLedger(connection, peers), session)
        }
        (self.place, self.changes) = (place, changes)
    }

    /// Ends both sessions. Their owner opens another store in place of this one: a session that is
    /// left would keep the lead from it.
    public func end() {
        session.end()
        connection.close()
    }

    /// What the keeper of a command inherits: the session of the leases, and the memory that says
    /// until when they are certain.
    var proof: (socket: Int32, span: Int32) { session.proof }

    public func decide(
        recalling starts: StartRecall?, _ decide: (Ledger) -> [LedgerChange]
    ) throws(RunStoreError) {
        try rethrowing(server: place) {
            try demandSession()
            guard !isFollowing else { return try follow(decide) }
            peers.role = isLoop ? .leader : .alone
            let written = try shared.decide(recalling: starts) { ledger in
                attemptLocks?.live.completing(decide(ledger)) ?? decide(ledger)
            }
            attemptLocks?.remove(ended: written.changes)
            if written.isNews { notify(isLoop ? written.changes.concerned : "") }
            tellProgress()
        }
    }

    /// Whether this is a loop that carries out what the leader has placed on it.
    private var isFollowing: Bool { isLoop && !session.isLeader }

    /// Decides about what is placed on this process, in a transaction that locks nothing else.
    private func follow(_ decide: (Ledger) -> [LedgerChange]) throws {
        let rows = PlacementRows(connection)
        let changes = try connection.unlockedTransaction {
            let changes = decide(try rows.ledger(of: owner))
            for change in changes {
                guard case .placing(let placing) = change else {
                    throw RunStoreError.refused("a follower decided about more than is its own")
                }
                try peers.write(placing, connection)
            }
            return changes
        }
        let answers = changes.answers
        attemptLocks?.remove(ended: answers.compactMap(\.endOfAttempt))
        if !changes.isEmpty { notify(PlacementRows.toLeader) }
        tellProgress()
    }

    private func tellProgress() {
        progress.tell { text throws(DatabaseError) in
            try ProgressRows(connection).write(text, of: owner)
        }
    }

    private func notify(_ payload: String) {
        do throws(DatabaseError) {
            // After the commit: within the transaction it would make all commits wait for each
            // other.
            try connection.run(
                "SELECT pg_notify(?, ?)", .text(ServerChannel.history), .text(payload))
        } catch {
            // The decision stands. The others look by themselves before long, and what failed here
            // fails again at the next decision, which says so.
        }
    }

    public func ledger(recalling starts: StartRecall?) throws(RunStoreError) -> Ledger {
        try rethrowing(server: place) {
            try demandSession()
            peers.role = isLoop && session.isLeader ? .leader : .alone
            return try shared.ledger(recalling: starts)
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

/// The processes, on any machine, that share a history in PostgreSQL.
///
/// A process lives for as long as its `LeaseSession`, which has the mark of its name. What an
/// attempt of this machine has locked here is held besides.
final class ServerPeers: HistoryPeers {
    let ownOwner: String?
    private let attemptLocks: AttemptLocks?
    /// As `ServerHistory.owner` begins.
    var machine: String? { ownOwner?.split(separator: "/").first.map(String.init) }
    /// How often another process was found to have written.
    private var foreignWrites: Int64 = 0
    /// The version of the history that this process has seen or written.
    private var known: Int64?
    /// The part of this process among the loops.
    var role = LoopRole.alone
    /// Whether it sees the machines of all loops, because it only looks.
    private let isLooking: Bool
    /// What the loops have published, by the names of their leases, with its revision.
    private var machines: [String: (revision: String, machine: Machine)] = [:]
    /// The loops that live, each with the revision of what it has published.
    private var revisions: [String: String] = [:]
    /// The loops that have published something and are gone. The server lists the sessions once in a
    /// transaction, so only the statement that lists them first can tell: whatever it sees was
    /// published by a session that had its mark by then.
    private var gone: [String] = []
    private var hasPlacements = false

    init(_ ownOwner: String?, _ attemptLocks: AttemptLocks? = nil) {
        (self.ownOwner, self.attemptLocks) = (ownOwner, attemptLocks)
        isLooking = ownOwner == nil
    }

    func version(_ connection: Connection) throws(DatabaseError) -> Int64 {
        // If the own session has ended, others may have taken over.
        let state = try connection.first(
            """
            SELECT version, CAST(? AS text) NOT IN \(SessionMark.living),
                EXISTS (SELECT 1 FROM placements),
                (SELECT string_agg(owner || ' ' || revision, ' ') FROM machines
                WHERE mark IN \(SessionMark.living)),
                (SELECT string_agg(owner, ' ') FROM (SELECT owner, mark FROM machines
                UNION SELECT owner, mark FROM progress) AS told
                WHERE mark NOT IN \(SessionMark.living))
            FROM writes
            """, .text(ownOwner.map { SessionMark.of($0) })
        ) { row in
            (
                version: row.integer(0), isLost: ownOwner != nil && row.integer(1) == 1,
                hasPlacements: row.integer(2) == 1, machines: row.optionalText(3) ?? "",
                gone: row.optionalText(4) ?? ""
            )
        }
        guard let state else {
            throw DatabaseError(
                kind: .damage, message: "`writes` has no row", code: "PostgreSQL")
        }
        guard !state.isLost else { throw ServerPeers.sessionHasEnded }
        hasPlacements = state.hasPlacements
        gone = state.gone.split(separator: " ").map(String.init)
        let words = state.machines.split(separator: " ").map(String.init)
        revisions = Dictionary(
            uniqueKeysWithValues: stride(from: 0, to: words.count - 1, by: 2).map {
                (words[$0], words[$0 + 1])
            })
        if state.version != known { foreignWrites += 1 }
        known = state.version
        return foreignWrites
    }

    func lastRun(_ connection: Connection) throws(DatabaseError) -> Int64 {
        // Pruning notes the highest number that there was.
        try connection.first(
            """
            SELECT max(coalesce((SELECT max(id) FROM runs), 0),
                coalesce((SELECT through_run FROM prune_mark), 0))
            """
        ) { $0.integer(0) } ?? 0
    }

    func states(
        of attempts: [HeldAttempt], _ connection: Connection
    ) throws(DatabaseError) -> [RunID: Lease.State] {
        let others = Set(attempts.map(\.owner)).subtracting([ownOwner].compactMap(\.self))
        var gone: Set<String> = []
        if !others.isEmpty {
            // A session that is gone never comes back.
            let living = Set(
                try connection.all("SELECT * FROM \(SessionMark.living) AS marks") { $0.text(0) })
            gone = others.filter { !living.contains(SessionMark.of($0)) }
        }
        return attempts.reduce(into: [:]) { states, attempt in
            states[attempt.run] =
                attempt.owner == ownOwner
                ? .mine
                : gone.contains(attempt.owner)
                    ? attemptLocks?.state(of: attempt) ?? .lapsed : .held
        }
    }

    func noteWrite(_ connection: Connection) throws(DatabaseError) {
        // Nobody else has written since `version`, in the same transaction.
        try connection.run("UPDATE writes SET version = version + 1")
        known = known.map { $0 + 1 }
    }

    func share(
        with ledger: inout Ledger, isDeciding: Bool, _ connection: Connection
    ) throws {
        let rows = PlacementRows(connection)
        ledger.role = role
        // After the leases: an end that is not there by now never comes from a loop that is gone.
        ledger.placements =
            hasPlacements ? try rows.placements(isDeciding: isDeciding, reportsToo: true) : [:]
        guard role == .leader || isLooking else { return }
        if isDeciding { for owner in gone { try rows.remove(loop: owner) } }
        let wanted = revisions.filter { $0.key != ownOwner }
        machines = machines.filter { wanted[$0.key] == $0.value.revision }
        for (owner, revision) in wanted where machines[owner] == nil {
            guard let machine = try rows.machine(of: owner) else { continue }
            machines[owner] = (revision, machine)
        }
        ledger.machines = machines.values.map(\.machine).sorted {
            ($0.name, $0.owner) < ($1.name, $1.owner)
        }
    }

    func progress(
        of run: RunID, _ number: Int, _ connection: Connection
    ) throws(DatabaseError) -> AttemptProgress? {
        try ProgressRows(connection).progress(of: run, number)
    }

    func write(_ change: PlacementChange, _ connection: Connection) throws(DatabaseError) {
        try PlacementRows(connection).write(change)
    }

    static let sessionHasEnded = DatabaseError(
        kind: .gone, message: "the session that holds this process's leases has ended",
        code: "PostgreSQL")
}
