import ClarityScheduler
import Database

/// The other processes that share a history, as the database or its folder tells of them.
protocol HistoryPeers: AnyObject {
    /// What this process's leases are held as; `nil` for one that only reads.
    var ownOwner: String? { get }

    /// The name of this machine, where the others may be on other machines.
    var machine: String? { get }

    /// Returns a number that is another one when another process has committed a change since.
    func version(_ connection: Connection) throws(DatabaseError) -> Int64

    /// Makes `version` another number for the others; called in a transaction that has written.
    func noteWrite(_ connection: Connection) throws(DatabaseError)

    /// Returns the highest number that a run has or had.
    func lastRun(_ connection: Connection) throws(DatabaseError) -> Int64

    /// Returns whether the lease of each attempt is held, lapsed or this process's own.
    func states(
        of attempts: [HeldAttempt], _ connection: Connection
    ) throws(DatabaseError) -> [RunID: Lease.State]
}

/// The processes of this machine that share a history in a file.
final class FilePeers: HistoryPeers {
    private let leases: Leases

    init(_ leases: Leases) { self.leases = leases }

    var ownOwner: String? { leases.ownOwner }
    var machine: String? { nil }

    /// `PRAGMA data_version` changes only when another connection commits a change
    /// (<https://www.sqlite.org/pragma.html#pragma_data_version>).
    func version(_ connection: Connection) throws(DatabaseError) -> Int64 {
        try connection.first("PRAGMA data_version") { $0.integer(0) } ?? 0
    }

    /// Does nothing: the commit itself changes the number.
    func noteWrite(_ connection: Connection) {}

    func lastRun(_ connection: Connection) throws(DatabaseError) -> Int64 {
        try connection.first("SELECT seq FROM sqlite_sequence WHERE name = 'runs'") {
            $0.integer(0)
        } ?? 0
    }

    func states(of attempts: [HeldAttempt], _ connection: Connection) -> [RunID: Lease.State] {
        attempts.reduce(into: [:]) { $0[$1.run] = leases.state(of: $1) }
    }
}
