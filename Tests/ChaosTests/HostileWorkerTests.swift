import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

@Suite("A worker that misbehaves", .timeLimit(.minutes(5)))
struct HostileWorkerTests {
    /// A way to misbehave and the reason that the history must give for it.
    struct Misbehaviour: CustomTestStringConvertible {
        var name: String
        var script: String
        var settings = ""
        /// The beginning of the reason.
        var reason: String
        /// The end of the reason, if its middle cannot be predicted.
        var end = ""
        var stopReason: String?

        var testDescription: String { name }
    }

    @Test(arguments: [
        Misbehaviour(
            name: "exits without a word", script: "exit 0",
            reason: "its worker exited with status 0 and reported no outcome"),
        Misbehaviour(
            name: "exits with status 3", script: "exit 3",
            reason: "its worker exited with status 3 and reported no outcome"),
        Misbehaviour(
            name: "reports success and fails while it ends",
            script: "report outcome success; exit 3",
            reason: "its worker exited with status 3 and reported no outcome"),
        Misbehaviour(
            name: "writes garbage", script: "report what is this; wait_for_end",
            reason: "its worker wrote something that is no report: line 1: expected `progress`, "
                + "`count`, `fact`, `note`, `checkpoint`, `event` or `outcome`"),
        Misbehaviour(
            name: "writes bytes that are no text",
            script: "printf 'note \\377\\376\\n' >&4; wait_for_end",
            reason: "its worker wrote something that is no report: line 1: expected UTF-8"),
        Misbehaviour(
            name: "writes half a line", script: "printf 'outcome succ' >&4",
            reason: "its worker wrote something that is no report: line 1: "
                + "expected a newline at the end"),
        Misbehaviour(
            name: "writes a line without end", script: "tr '\\0' a </dev/zero >&4",
            reason: "its worker wrote something that is no report: line 1: "
                + "expected at most 4096 bytes"),
        Misbehaviour(
            name: "writes without end", script: "yes \"checkpoint $(printf %01000d 0)\" >&4",
            reason: "its worker wrote something that is no report: "
                + "more than 16777216 bytes of reports"),
        Misbehaviour(
            name: "goes on after its last word",
            script: "report outcome success; report note more; wait_for_end",
            reason: "its worker wrote something that is no report: line 2: "
                + "expected nothing after the outcome"),
        Misbehaviour(
            name: "leaves a grandchild with its descriptors",
            script: "(wait_for_end) & report outcome success; exit 0",
            reason:
                "its worker ended and left processes running in the background, which were killed"),
        Misbehaviour(
            name: "eats memory",
            script: "hoard=$(head -c 67108864 /dev/zero | tr '\\0' a); wait_for_end",
            settings: ", memory_limit: 32MiB",
            reason: "its worker took ", end: " MiB of memory, over its limit of 32 MiB"),
        Misbehaviour(
            name: "dies by SIGSEGV", script: "kill -SEGV $$",
            reason: "its worker was ended by signal 11"),
        Misbehaviour(
            name: "hangs", script: "trap 'report note warned' TERM; while :; do wait_for_end; done",
            // Enough time to set the trap before the warning, and to report after it, on a busy
            // machine.
            settings: ", timeout: 3s, warning: 1500ms",
            reason: "did not end within its time of 3s",
            stopReason: "timeout"),
        Misbehaviour(
            name: "ignores its warning", script: "trap '' TERM; wait_for_end",
            settings: ", timeout: 1s", reason: "did not end within its time of 1s",
            stopReason: "timeout"),
    ])
    func `its attempt fails with the reason, and the loop goes on`(
        misbehaviour: Misbehaviour
    ) async throws {
        let worker = try await HostileWorker(
            misbehaviour.script, settings: misbehaviour.settings)

        let loop = try await worker.loop()

        let hostile = try await worker.lastRun(of: "hostile")
        let good = try await worker.lastRun(of: "good")
        let reason = hostile.failure ?? ""
        #expect(loop.status == 143, "\(loop.lines)")
        #expect(hostile.state == "failed")
        #expect(hostile.attempts == 1)
        #expect(
            reason.hasPrefix(misbehaviour.reason) && reason.hasSuffix(misbehaviour.end), "\(reason)"
        )
        #expect(misbehaviour.end != "" || reason == misbehaviour.reason)
        #expect(hostile.stopReason == misbehaviour.stopReason)
        #expect(hostile.notes == (misbehaviour.name == "hangs" ? ["warned"] : []))
        #expect(good.state == "succeeded")
    }

    @Test func `a run that is ended by its timeout says so in its exit status`() async throws {
        let worker = try await HostileWorker("wait_for_end", settings: ", timeout: 1s")

        let result = try await worker.run("run hostile")

        #expect(result.status == 124)
        #expect(
            result.output
                == "hostile: failed: asked to stop 200ms before its limit of 1s (run 1)\n")
    }

    @Test func `a worker that broke is a fault of this program in the exit status`() async throws {
        let worker = try await HostileWorker("kill -SEGV $$")

        let result = try await worker.run("run hostile")

        #expect(result.status == 70)
        #expect(
            result.output == "hostile: failed: its worker was ended by signal 11 (run 1)\n")
    }

    @Test func `a grandchild that leaves the group keeps nobody waiting`() async throws {
        // The grandchild lives until the attempt's order pipe closes, and holds the report pipe
        // open until then.
        let worker = try await HostileWorker(
            """
            mkfifo "$FOLDER/ready"
            setsid sh -c 'echo ready >"$FOLDER/ready"; read -r line <&3' &
            read -r line <"$FOLDER/ready"
            report outcome success
            exit 0
            """)

        let result = try await worker.run("run hostile good")

        #expect(result.status == 0, "\(result.output)")
        #expect(try await worker.lastRun(of: "hostile").state == "succeeded")
        #expect(try await worker.lastRun(of: "good").state == "succeeded")
    }

    @Test(arguments: [
        ("rm \"$0\"", "No such file or directory"), ("chmod a-x \"$0\"", "Permission denied"),
    ])
    func `a worker that vanishes fails the next attempt, not the loop`(
        removal: String, problem: String
    ) async throws {
        let worker = try await HostileWorker("\(removal); report outcome success")

        let loop = try await worker.loop()

        let good = try await worker.lastRun(of: "good")
        #expect(loop.status == 143, "\(loop.lines)")
        #expect(try await worker.lastRun(of: "hostile").state == "succeeded")
        #expect(good.state == "failed")
        #expect(
            good.failure
                == "its worker could not be started: cannot start `\(worker.workerPath)`: \(problem)"
        )
    }

    @Test(arguments: ["run hostile", "run --due", "loop"])
    func `a worker that is not there is told before anything starts`(
        command: String
    ) async throws {
        let worker = try await HostileWorker("exit 0")
        for isMissing in [false, true] {
            try #require(chmod(worker.workerPath, 0o600) == 0)
            if isMissing { try #require(unlink(worker.workerPath) == 0) }

            let result = try await worker.run(command)

            #expect(result.status == 78)
            #expect(
                result.output == """
                    clarity-jobs: no program `clarity-jobs-worker` beside `\(worker.programPath)`
                    help: install the package's programs into one folder

                    """)
        }
        #expect(try await worker.playground.history("hostile").isEmpty)
    }
}
