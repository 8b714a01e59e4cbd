import ClarityScheduler
import ClarityTestSupport
import Glibc
import Database
import Testing

@testable import ClarityHost

@Suite("What a lease is worth")
struct LeasesTests {
    let bed: SQLiteRunStoreBed

    init() throws { bed = try SQLiteRunStoreBed() }

    @Test(arguments: [
        // The holder was stopped, or slept with the machine, for longer than the lease lasts.
        "lease_expires_ms = 0",
        // The holder left no lock: no file has its name.
        "lease_owner = '1-gone'",
    ])
    func `a lease lapses for others although its holder lives`(change: String) throws {
        let (mine, owner) = try bed.open()
        let (other, _) = try bed.open()
        let run = try runningRun(owner)
        try mine.decide { _ in [.put(run)] }
        let before = try other.ledger().open[RunID(1)]?.lease?.state

        try edit("UPDATE runs SET \(change)")

        #expect(before == .held)
        #expect(try other.ledger().open[RunID(1)]?.lease?.state == .lapsed)
    }

    @Test func `a holder that reads another boot keeps its lease while its lock is held`() throws {
        let (mine, owner) = try bed.open()
        let (other, _) = try bed.open()
        let run = try runningRun(owner)
        try mine.decide { _ in [.put(run)] }

        try edit("UPDATE runs SET lease_boot = 'of the host', lease_expires_ms = 0")

        #expect(try other.ledger().open[RunID(1)]?.lease?.state == .held)
    }

    @Test func `a holder that comes back late keeps what nobody has taken over`() throws {
        let (mine, owner) = try bed.open()
        let (other, _) = try bed.open()
        let run = try runningRun(owner)
        try mine.decide { _ in [.put(run)] }
        try edit("UPDATE runs SET lease_expires_ms = 0")

        let state = try mine.ledger().open[RunID(1)]?.lease?.state
        try mine.decide { _ in [.renewLeases] }

        #expect(state == .mine)
        #expect(try other.ledger().open[RunID(1)]?.lease?.state == .held)
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
        #expect(try slow.ledger().open[RunID(1)]?.lease?.state == .held)
    }

    /// A lock gets its name once it is locked. A process killed before that leaves a nameless file.
    @Test(arguments: [
        // No process can have this number (proc(5), `pid_max`), or it is this process's own.
        (holder: "4194305", age: 3600, isLeft: false), ("4194305", 1, true),
        ("\(getpid())", 3600, true),
    ])
    func `a lock that never got its name is removed once its process is gone and it is old`(
        holder: String, age: Int, isLeft: Bool
    ) throws {
        let folder = "\(bed.path)/owners"
        _ = try bed.open()
        let draft = "\(folder)/.\(holder)-abc"
        let file = creat(draft, 0o600)
        try #require(file >= 0)
        close(file)
        let then = timespec(tv_sec: time(nil) - age, tv_nsec: 0)
        try #require(utimensat(AT_FDCWD, draft, [then, then], 0) == 0)

        _ = try bed.open()

        #expect((access(draft, F_OK) == 0) == isLeft)
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
        try FileConnection(path: "\(bed.path)/history.db").execute(statement)
    }

    private func runningRun(_ owner: String) throws -> Run {
        var run = Run(
            id: RunID(1), job: try #require(JobID("a")), kind: JobKind("work"),
            trigger: .schedule, scheduledFor: .noon, enqueuedAt: .noon)
        run.state = .running
        run.attempts = 1
        run.generation = 1
        run.startedAt = .noon
        run.lease = Lease(owner: owner, state: .mine)
        return run
    }
}
