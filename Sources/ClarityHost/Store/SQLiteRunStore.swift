public import ClarityScheduler
public import ClaritySystem
import SQLite

/// Keeps runs in `history.db`, a SQLite file in WAL mode that any number of processes share.
///
/// A decision is one `BEGIN IMMEDIATE` transaction from the reading to the writing, so that two
/// processes never decide on the same state; commits are `synchronous=FULL`.
public final class SQLiteRunStore: RunStore {
    private let connection: Connection
    private let path: String
    private let leases: Leases
    /// The lock behind this process's leases.
    public let leaseLock: LeaseLock

    /// Opens the store, making it if need be.
    ///
    /// - Throws: `RunStoreError` when the folder or the file cannot be used.
    public init(in directory: StateDirectory, uniqueNumber: UInt64) throws(RunStoreError) {
        let owners: String
        do throws(StateDirectoryError) {
            owners = try directory.makeFolder("owners")
            leaseLock = try LeaseLock(folder: owners, uniqueNumber: uniqueNumber)
        } catch {
            throw error.isDisk ? .disk(error.description) : .unreachable(error.description)
        }
        leases = Leases(folder: owners, ownOwner: leaseLock.owner)
        leases.removeLapsed()
        let path = "\(directory.path)/history.db"
        self.path = path
        connection = try rethrowing(path) {
            let connection = try Connection(path: path)
            try connection.execute(
                """
                PRAGMA journal_mode = WAL;
                PRAGMA synchronous = FULL;
                PRAGMA foreign_keys = ON;
                """)
            try historyMigrations.migrate(connection)
            return connection
        }
    }

    public func decide(_ decide: (Ledger) -> [LedgerChange]) throws(RunStoreError) {
        try rethrowing(path) {
            try connection.transaction {
                for change in decide(try readLedger()) { try write(change) }
            }
        }
    }

    public func ledger() throws(RunStoreError) -> Ledger {
        try rethrowing(path) { try connection.snapshot { try readLedger() } }
    }

    private func readLedger() throws -> Ledger {
        try LedgerRows.read(connection) { leases.standing(of: $0, boot: $1, expires: $2) }
    }

    private func write(_ change: LedgerChange) throws(SQLiteError) {
        switch change {
        case .setClock(let job, let clock):
            try connection.run(
                """
                INSERT INTO job_clocks (job_id, anchor_at_ms, considered_until_ms) VALUES (?, ?, ?)
                ON CONFLICT (job_id) DO UPDATE SET
                    anchor_at_ms = excluded.anchor_at_ms,
                    considered_until_ms = excluded.considered_until_ms,
                    era = era + (excluded.considered_until_ms < considered_until_ms)
                """,
                .text(job.rawValue), .integer(clock.anchor.millisecondsSince1970),
                .integer(clock.considered.millisecondsSince1970))
        case .recordFate(let job, let fate, let first, let latest, let count, let run):
            try connection.run(
                """
                INSERT INTO occurrence_fates
                    (job_id, first_ms, latest_ms, occurrences, fate, run_id, era)
                VALUES (?1, ?, ?, ?, ?, ?, \(RunRow.eraOfJob(1)))
                """,
                .text(job.rawValue), .integer(first.millisecondsSince1970),
                .integer(latest.millisecondsSince1970), .integer(Int64(count)),
                .text(fate.rawValue), .integer(run?.rawValue))
        case .put(let run):
            try RunRow.put(
                run, boot: leases.bootID, leaseExpires: leases.nextExpiry, connection)
        case .putAttempt(let attempt): try AttemptRow.put(attempt, connection)
        case .deferred(let run, let deferrals, let instant):
            try DeferralRow.put(deferrals, of: run, at: instant, connection)
        case .renewLeases:
            try connection.run(
                "UPDATE runs SET lease_expires_ms = ? WHERE state = 'running' AND lease_owner = ?",
                .integer(leases.nextExpiry), .text(leaseLock.owner))
        }
    }
}

/// Runs `body` and says every failure of SQLite in the store's terms.
func rethrowing<Result>(
    _ path: String, _ body: () throws -> Result
) throws(RunStoreError) -> Result {
    do {
        return try body()
    } catch let error as RunStoreError {
        throw error
    } catch let error as SQLiteError {
        let text = "cannot use history `\(path)`: \(error)"
        if error.isDisk { throw .disk(text) }
        if error.isAccess { throw .unreachable(text) }
        if error.isDamage { throw .unusable(text) }
        if error.isConstraint { throw .refused(text) }
        throw .unreachable(text)
    } catch Migrations.Fault.foreign {
        throw .unusable("cannot use history `\(path)`: it belongs to another program")
    } catch Migrations.Fault.newer(let found, let known) {
        throw .unusable(
            "cannot use history `\(path)`: its schema is version \(found), this program knows "
                + "\(known); use the newer program")
    } catch {
        throw .refused("cannot use history `\(path)`: \(error)")
    }
}
