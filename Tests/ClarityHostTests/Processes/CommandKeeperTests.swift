import ClarityScheduler
import Platform
import ClarityTestSupport
import Glibc
import Testing

@testable import ClarityHost

/// Runs `clarity-jobs-keeper` as a scheduler does, and takes the scheduler away from it.
@Suite("The keeper of a command", .timeLimit(.minutes(2)))
struct CommandKeeperTests {
    /// A keeper whose scheduler is this test.
    private final class Scene {
        let folder: TemporaryFolder
        let keeper: pid_t
        private var scheduler: Int32
        private let lock: Int32

        /// - Parameter span: the memory that says until when the lease is certain.
        init(
            _ script: String, grace: Duration = .seconds(30), limit: Duration = .seconds(60),
            span: LeaseSpan? = nil
        ) throws {
            let folder = try TemporaryFolder()
            self.folder = folder
            lock = open("\(folder.path)/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            try #require(lock >= 0 && flock(lock, LOCK_EX) == 0)
            let pipe = try Pipe(from: ProcessStart.firstFree)
            scheduler = fcntl(pipe.writeEnd.number, F_DUPFD_CLOEXEC, 0)
            var start = try ProcessStart()
            try start.enter(folder.path)
            for number in [Int32(0), 1, 2] { try start.open("/dev/null", O_RDWR, as: number) }
            let given = try Descriptor.duplicate(lock, from: ProcessStart.firstFree)
            try start.give(given.number, as: 3)
            try start.give(pipe.readEnd.number, as: 4)
            if let span {
                let memory = try Descriptor.duplicate(
                    span.descriptor, from: ProcessStart.firstFree)
                try start.give(memory.number, as: 5)
                try start.closeAll(from: 6)
                keeper = try Scene.run(&start, script, grace, limit)
            } else {
                try start.closeAll(from: 5)
                keeper = try Scene.run(&start, script, grace, limit)
            }
            close(lock)
        }

        private static func run(
            _ start: inout ProcessStart, _ script: String, _ grace: Duration, _ limit: Duration
        ) throws -> pid_t {
            try start.run(
                [
                    "\(ChildProgram.folder)/clarity-jobs-keeper", "\(grace.milliseconds)",
                    "\(limit.milliseconds)", "077", "/bin/sh", "-c", script,
                ], ["PATH": "/usr/bin:/bin"])
        }

        deinit { if scheduler >= 0 { close(scheduler) } }

        /// Lets the keeper start the command.
        func go() {
            var byte = UInt8(ascii: "\n")
            write(scheduler, &byte, 1)
        }

        /// Ends the scheduler, as the keeper sees it.
        func vanish() {
            close(scheduler)
            scheduler = -1
        }

        /// Waits for the file that the command makes.
        func wait(for name: String) throws {
            let start = ContinuousClock.now
            while access("\(folder.path)/\(name)", F_OK) != 0 {
                try #require(ContinuousClock.now - start < .seconds(20), "no file `\(name)`")
                usleep(2000)
            }
        }

        /// Waits for the keeper, and returns its status as a shell shows it.
        func status() -> Int32 {
            var status: Int32 = 0
            while waitpid(keeper, &status, 0) < 0, errno == EINTR {}
            return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
        }

        func text(_ name: String) throws -> String {
            String(decoding: try TemporaryFolder.read("\(folder.path)/\(name)"), as: UTF8.self)
        }

        /// Whether a process still has the lock.
        var isLocked: Bool {
            let file = open("\(folder.path)/lock", O_RDONLY | O_CLOEXEC)
            defer { close(file) }
            return flock(file, LOCK_SH | LOCK_NB) != 0
        }
    }

    @Test(arguments: [("exit 0", Int32(0), "exit 0\n"), ("exit 7", 7, "exit 7\n")])
    func `a keeper ends as its command does, and records how`(
        script: String, status: Int32, note: String
    ) throws {
        let scene = try Scene(script)

        scene.go()

        #expect(scene.status() == status)
        #expect(try scene.text("lock") == note)
    }

    @Test func `a keeper ends by the signal that ended its command`() throws {
        let scene = try Scene("kill -USR1 $$; sleep 100")

        scene.go()

        #expect(scene.status() == 128 + SIGUSR1)
        #expect(try scene.text("lock") == "signal \(SIGUSR1)\n")
    }

    @Test func `nothing starts before the scheduler says so`() throws {
        let scene = try Scene("touch started")

        scene.vanish()

        #expect(scene.status() == 0)
        #expect(access("\(scene.folder.path)/started", F_OK) != 0)
    }

    @Test func `a command whose scheduler is gone is asked to end, and its success is noted`()
        throws
    {
        let scene = try Scene(
            "trap 'echo bye >>ended; exit 0' TERM; touch ready; while :; do sleep 0.01; done")
        scene.go()
        try scene.wait(for: "ready")
        let isLocked = scene.isLocked

        scene.vanish()
        _ = scene.status()

        #expect(isLocked && !scene.isLocked)
        #expect(try scene.text("ended") == "bye\n")
        #expect(try scene.text("lock") == "exit 0\n")
    }

    @Test func `a command that does not end in time is killed with what it started`() throws {
        let scene = try Scene(
            "trap '' TERM; (sleep 1000) & touch ready; wait; sleep 1000",
            grace: .milliseconds(50))
        scene.go()
        try scene.wait(for: "ready")

        scene.vanish()

        #expect(scene.status() == 128 + SIGKILL)
        #expect(!scene.isLocked)
        #expect(try scene.text("lock") == "")
    }

    @Test func `a command ends when its time is over, whatever its scheduler does`() throws {
        let scene = try Scene("touch ready; exec sleep 1000", limit: .milliseconds(300))
        scene.go()
        try scene.wait(for: "ready")

        #expect(scene.status() == 128 + SIGKILL)
    }

    @Test func `a command ends when the lease of a scheduler that still lives is over`() throws {
        let span = try LeaseSpan()
        span.extend(to: SystemClock().elapsed + .seconds(600))
        let scene = try Scene("trap '' TERM; touch ready; sleep 1000; sleep 1000", span: span)
        scene.go()
        try scene.wait(for: "ready")

        span.end()

        #expect(scene.status() == 128 + SIGKILL)
        #expect(!scene.isLocked)
    }

    @Test func `what a command sends to its own group ends it once`() throws {
        let scene = try Scene(
            "n=0; trap 'n=$((n + 1)); echo $n >>heard; [ $n -lt 3 ] || exit 3' TERM; "
                + "kill -TERM 0; sleep 0.2; exit 0")

        scene.go()

        #expect(scene.status() == 0)
        #expect(try scene.text("heard") == "1\n")
    }
}
