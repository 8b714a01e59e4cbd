import ClarityScheduler
import ClarityTestSupport
import Glibc
import SQLite
import Testing

@testable import ClarityHost

@Suite("What a lease is worth")
struct LeasesTests {
    let bed: SQLiteRunStoreBed

    init() throws { bed = try SQLiteRunStoreBed() }

    @Test(arguments: [
        // A holder that was stopped, or slept with the machine, for longer than the term.
        "lease_expires_ms = 0",
        // A holder from before the machine was started anew.
        "lease_boot = 'another'",
        // A holder that left no lock: its name leads nowhere.
        "lease_owner = '1-gone'",
    ])
    func `a lease lapses for others although its holder lives`(change: String) throws {
        let (mine, owner) = try bed.open()
        let (other, _) = try bed.open()
        let run = try runningRun(owner)
        try mine.decide { _ in [.put(run)] }
        let before = try other.ledger().open[RunID(1)]?.lease?.standing

        try edit("UPDATE runs SET \(change)")

        #expect(before == .held)
        #expect(try other.ledger().open[RunID(1)]?.lease?.standing == .lapsed)
    }

    @Test func `a holder that comes back late keeps what nobody has taken over`() throws {
        let (mine, owner) = try bed.open()
        let (other, _) = try bed.open()
        let run = try runningRun(owner)
        try mine.decide { _ in [.put(run)] }
        try edit("UPDATE runs SET lease_expires_ms = 0")

        let standing = try mine.ledger().open[RunID(1)]?.lease?.standing
        try mine.decide { _ in [.renewLeases] }

        #expect(standing == .mine)
        #expect(try other.ledger().open[RunID(1)]?.lease?.standing == .held)
    }

    @Test func `a renewal does not take back a lease that another process took over`() throws {
        let (slow, slowOwner) = try bed.open()
        let (quick, quickOwner) = try bed.open()
        let run = try runningRun(slowOwner)
        try slow.decide { _ in [.put(run)] }
        try edit("UPDATE runs SET lease_expires_ms = 0")
        let rescued = try runningRun(quickOwner)
        try quick.decide { _ in [.put(rescued)] }

        try slow.decide { _ in [.renewLeases] }

        #expect(try slow.ledger().open[RunID(1)]?.lease?.owner == quickOwner)
        #expect(try slow.ledger().open[RunID(1)]?.lease?.standing == .held)
    }

    @Test func `a process that waits to be reaped has ended`() throws {
        var child: pid_t = 0
        let words: [UnsafeMutablePointer<CChar>?] = [strdup("/bin/true"), nil]
        defer { words.forEach { free($0) } }
        try #require(posix_spawn(&child, "/bin/true", nil, nil, words, nil) == 0)
        var information = siginfo_t()
        while waitid(P_PID, id_t(child), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}

        let unreaped = Leases.hasEnded(child)
        waitpid(child, nil, 0)

        #expect(unreaped)
        #expect(Leases.hasEnded(child))
        #expect(!Leases.hasEnded(getpid()))
    }

    private func edit(_ statement: String) throws {
        try Connection(path: "\(bed.path)/history.db").execute(statement)
    }

    private func runningRun(_ owner: String) throws -> Run {
        var run = Run(
            id: RunID(1), job: try #require(JobID("a")), kind: JobKind("work"),
            trigger: .schedule, scheduledFor: .noon, enqueuedAt: .noon)
        run.state = .running
        run.attempts = 1
        run.generation = 1
        run.startedAt = .noon
        run.lease = Lease(owner: owner, standing: .mine)
        return run
    }
}
