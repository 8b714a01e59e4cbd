import ClarityScheduler
import Platform
import ClarityTestSupport
import Glibc
import Database
import Testing

@testable import ClarityHost

@Suite("What a lease is worth")
struct LeasesTests {
    let bed: SQLiteRunStoreBed

    init() throws { bed = try SQLiteRunStoreBed() }

    @Test func `a lease lapses with the scheduler and the attempt that hold it, and not before`()
        throws
    {
        let (mine, owner) = try bed.open()
        let (other, _) = try bed.open()
        let run = try runningRun(owner)
        try mine.decide { _ in [.put(run)] }
        let attempt = try lock(owner)
        let held = try state(other)

        mine.end()
        let ofAttempt = try state(other)
        close(attempt)

        #expect([held, ofAttempt] == [.held, .held])
        #expect(try state(other) == .lapsed)
    }

    /// A scheduler that decides late, or was stopped, still runs its attempts.
    @Test func `however old a lease is, it is held while its holder lives`() throws {
        let (mine, owner) = try bed.open()
        let (other, _) = try bed.open()
        let run = try runningRun(owner)
        try mine.decide { _ in [.put(run)] }

        try edit("UPDATE runs SET lease_boot = 'of the host', lease_expires_ms = 0")

        #expect(try state(other) == .held)
    }

    @Test(arguments: [("exit 0\n", Lease.State.succeeded), ("exit 1\n", .lapsed), ("", .lapsed)])
    func `what an attempt ended with is known although its scheduler has died`(
        end: String, state: Lease.State
    ) throws {
        let (mine, owner) = try bed.open()
        let (other, _) = try bed.open()
        let run = try runningRun(owner)
        try mine.decide { _ in [.put(run)] }
        let attempt = try lock(owner)
        try #require(write(attempt, end, end.utf8.count) == end.utf8.count)
        mine.end()

        close(attempt)

        #expect(try self.state(other) == state)
    }

    @Test func `the file of an attempt goes when its end is recorded`() throws {
        let (mine, owner) = try bed.open()
        let (other, _) = try bed.open()
        let run = try runningRun(owner)
        try mine.decide { _ in [.put(run)] }
        close(try lock(owner))
        mine.end()

        try other.decide { _ in
            [
                .putAttempt(
                    Attempt(
                        run: run.id, number: 1, startedAt: .noon, finishedAt: .noon,
                        result: .interrupted))
            ]
        }

        #expect(access("\(bed.path)/attempts/\(owner).1.1", F_OK) != 0)
    }

    private func state(_ store: any RunStore) throws -> Lease.State? {
        try store.ledger().open[RunID(1)]?.lease?.state
    }

    /// Takes the lock of the first attempt of run 1, as its process does.
    private func lock(_ owner: String) throws -> Int32 {
        let locks = try AttemptLocks(in: StateDirectory(path: bed.path), owner: owner)
        var order = try ScriptWorker.order()
        (order.run, order.attempt) = (RunID(1), 1)
        return try locks.take(order)
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
        run.fencingToken = 1
        run.startedAt = .noon
        run.lease = Lease(owner: owner, state: .mine)
        return run
    }
}
