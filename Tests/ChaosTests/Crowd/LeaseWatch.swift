import ClarityScheduler
import Glibc
@testable import ProgramTestSupport
import Database

/// Measures how long leases stay in the name of dead schedulers.
actor LeaseWatch {
    /// The longest time for which a lease was seen in the name of a scheduler that had ended.
    private(set) var longest: Duration = .zero
    /// The number of leases that were seen in the name of such a scheduler.
    private(set) var deadHolders = 0

    private let playground: Playground
    private var history: Connection?
    private var since: [String: ContinuousClock.Instant] = [:]

    init(_ playground: Playground) { self.playground = playground }

    /// Checks who holds leases now.
    func look() throws {
        if playground.database == nil {
            // The first process creates the file and, a moment later, its tables.
            let path = "\(playground.statePath)/history.db"
            guard history != nil || access(path, F_OK) == 0 else { return }
            let file = try history ?? FileConnection(path: path, access: .readOnly)
            history = file
            let tables = "SELECT 1 FROM sqlite_schema WHERE name = 'runs'"
            guard try file.first(tables, map: { _ in true }) == true else { return }
        }
        let history = try self.history ?? playground.openHistory()
        self.history = history
        let now = ContinuousClock.now
        let leases = try history.all(
            "SELECT id || ' ' || generation, lease_owner FROM runs WHERE state = 'running'"
        ) { (lease: $0.text(0), owner: $0.text(1)) }
        let dead = leases.filter { lease in
            // Of a shared database, the owner's name begins with the machine's.
            let process = lease.owner.split(separator: "/").last?.split(separator: "-").first
                .flatMap { Int32($0) }
            return process.map { !ProcessTable.isAlive($0) } ?? true
        }.map(\.lease)
        for lease in dead where since[lease] == nil {
            since[lease] = now
            deadHolders += 1
        }
        for (lease, first) in since {
            longest = max(longest, now - first)
            if !dead.contains(lease) { since[lease] = nil }
        }
    }
}
