import ClarityHost
import ClarityScheduler
import Database
@preconcurrency import Glibc

/// `lease-holder HOST PORT DATABASE OWNER`: starts run 1 under a lease in a history in PostgreSQL,
/// and says `held`. For each line on standard input it then renews the lease, and says `renewed` or
/// why it could not.
@main
enum LeaseHolder {
    static func main() throws {
        setvbuf(stdout, nil, _IOLBF, 0)
        let arguments = CommandLine.arguments
        let address = ServerAddress(
            host: arguments[1], port: Int(arguments[2]) ?? 5432, database: arguments[3],
            user: "clarity")
        let store = try PostgresRunStore(
            at: address, owner: arguments[4], pulse: LoopPulse { $0() },
            patience: .seconds(2))
        // Until then the loop would follow another, and decide nothing.
        while !store.isLeader { usleep(1000) }
        guard let job = JobID("a") else { return }
        var run = Run(
            id: RunID(1), job: job, kind: JobKind("work"), trigger: .manual,
            scheduledFor: Instant(secondsSince1970: 0), enqueuedAt: Instant(secondsSince1970: 0))
        run.state = .running
        run.attempts = 1
        run.fencingToken = 1
        run.startedAt = Instant(secondsSince1970: 0)
        run.lease = Lease(owner: store.owner, state: .mine)
        let running = run
        try store.decide { _ in [.put(running)] }
        print("held")
        while readLine() != nil {
            do throws(RunStoreError) {
                try store.decide { _ in [.setBoot("\(getpid())")] }
                print("renewed")
            } catch {
                print(error)
            }
        }
    }
}
