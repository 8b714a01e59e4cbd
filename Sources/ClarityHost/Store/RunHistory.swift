public import ClarityScheduler
@preconcurrency import Glibc
import SQLite

/// Answers questions about past and present runs; changes nothing.
public struct RunHistory: ~Copyable {
    private let connection: Connection?
    private let path: String
    private let leases: Leases

    /// Opens the history of a state directory for reading; one that does not exist yet is empty.
    ///
    /// Nothing in the directory is written or made: while no process has the file open it is read
    /// as immutable, since SQLite would make a `-shm` file beside it otherwise.
    ///
    /// - Throws: `RunStoreError` when it exists and cannot be read.
    public init(inDirectory directory: String) throws(RunStoreError) {
        let path = "\(directory)/history.db"
        self.path = path
        leases = Leases(folder: "\(directory)/owners", ownOwner: nil)
        connection = try rethrowing(path) {
            guard access(path, F_OK) == 0 || errno != ENOENT else { return nil }
            let isOpenElsewhere = access("\(path)-wal", F_OK) == 0
            let connection = try Connection(
                path: path, access: isOpenElsewhere ? .readOnly : .immutable)
            return try historyMigrations.version(of: connection) == 0 ? nil : connection
        }
    }

    /// The ledger as it is.
    public func ledger() throws(RunStoreError) -> Ledger {
        guard let connection else { return Ledger() }
        return try rethrowing(path) {
            try connection.snapshot {
                try LedgerRows.read(connection) {
                    leases.standing(of: $0, boot: $1, expires: $2)
                }
            }
        }
    }

    /// The last `limit` runs, newest first, of one job or of all.
    public func runs(of job: JobID?, limit: Int) throws(RunStoreError) -> [Run] {
        try runs(
            """
            SELECT \(RunRow.columns) FROM runs WHERE ?1 IS NULL OR job_id = ?1
            ORDER BY id DESC LIMIT ?2
            """, [.text(job?.rawValue), .integer(Int64(limit))])
    }

    /// One run, or `nil` when there is none of this number.
    public func run(_ id: RunID) throws(RunStoreError) -> Run? {
        try runs("SELECT \(RunRow.columns) FROM runs WHERE id = ?", [.integer(id.rawValue)]).first
    }

    /// The attempts of a run, by number.
    public func attempts(of run: RunID) throws(RunStoreError) -> [Attempt] {
        try rethrowing(path) {
            try connection?.all(
                "SELECT \(AttemptRow.columns) FROM attempts WHERE run_id = ? ORDER BY number",
                .integer(run.rawValue), map: AttemptRow.attempt) ?? []
        }
    }

    /// What held a run back, in the order in which it began to.
    public func deferrals(of run: RunID) throws(RunStoreError) -> [DeferralSpan] {
        try rethrowing(path) {
            try connection?.all(
                """
                SELECT \(DeferralRow.columns) FROM deferrals WHERE run_id = ?
                ORDER BY since_ms, subject
                """, .integer(run.rawValue), map: DeferralRow.span) ?? []
        }
    }

    private func runs(_ sql: String, _ values: [Value]) throws(RunStoreError) -> [Run] {
        guard let connection else { return [] }
        return try rethrowing(path) {
            var runs: [Run] = []
            var fault: RunStoreError?
            try connection.forEach(sql, values) { row in
                do throws(RunStoreError) {
                    runs.append(try RunRow.run(row))
                } catch {
                    fault = error
                }
            }
            if let fault { throw fault }
            return runs
        }
    }
}
