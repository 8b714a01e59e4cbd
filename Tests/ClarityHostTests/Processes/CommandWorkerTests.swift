import ClarityScheduler
import ClarityTestSupport
import Glibc
import Testing

@testable import ClarityHost

/// Runs commands as real processes.
@Suite(.timeLimit(.minutes(5))) struct CommandWorkerTests {
    private func run(
        _ words: [String], _ options: [String: String] = [:], memoryLimitBytes: Int64 = 1 << 30,
        environment: [String: String] = ["PATH": "/usr/bin:/bin"], keeper: CommandKeeper? = nil,
        onProgress:
            @escaping @Sendable (AsyncStream<AttemptSignal>.Continuation) -> Void = { _ in }
    ) async throws -> AttemptEnd {
        let (signals, continuation) = AsyncStream.makeStream(of: AttemptSignal.self)
        let order = try ScriptWorker.order(
            memoryLimitBytes: memoryLimitBytes,
            options: ["command": words.joined(separator: "\u{0}")].merging(options) { $1 })
        let clock = ManualClock(Instant(secondsSince1970: 1_700_000_010))
        return await CommandWorker(
            environment: environment, keeper: keeper, clock: clock
        ).run(order, signals: signals) { _, _ in onProgress(continuation) }
    }

    private static let keeper = CommandKeeper(
        "\(ChildProgram.folder)/clarity-jobs-keeper",
        AttemptProof { _ in open("/dev/null", O_RDWR | O_CLOEXEC) },
        LiveAttempts(folder: "/nowhere", owner: "me"))

    private func text(_ end: AttemptEnd) -> String {
        String(decoding: (end.output?.head ?? []) + (end.output?.tail ?? []), as: UTF8.self)
    }

    @Test func `a command is the attempt: its status is the outcome, its output is kept`()
        async throws
    {
        let good = try await run(["sh", "-c", "echo out; echo err >&2; echo \"$0 $*\"", "a", "b c"])
        let later = try await run(["sh", "-c", "echo first; echo 'try tomorrow'; exit 75"])
        let silent = try await run(["true"])

        #expect(good.result == .reported(.success))
        #expect(text(good) == "out\nerr\na b c\n")
        #expect(
            later.result
                == .reported(
                    .retry(
                        after: nil,
                        Failure(.work, "exited with status 75 (later): try tomorrow"))))
        #expect(silent == AttemptEnd(.reported(.success), peakMemoryBytes: silent.peakMemoryBytes))
    }

    @Test(arguments: [false, true])
    func `a command gets its folder, its environment and no foreign descriptor`(
        isKept: Bool
    ) async throws {
        let script = """
            pwd
            env | grep -v -e ^PWD= -e ^SHLVL= -e ^_= -e ^OLDPWD= | sort
            n=0
            while [ $n -lt 100 ]; do
                [ -e /proc/$$/fd/$n ] && echo "$n $(readlink /proc/$$/fd/$n | sed 's/:.*//')"
                n=$((n + 1))
            done
            """

        let end = try await run(
            ["sh", "-c", script], ["folder": "/tmp", "environment": "GREETING=good day"],
            keeper: isKept ? Self.keeper : nil)

        #expect(
            text(end).split(separator: "\n") == [
                "/tmp", "CLARITY_ATTEMPT=2", "CLARITY_DEADLINE=2023-11-14T22:14:00Z",
                "CLARITY_GENERATION=11", "CLARITY_JOB=com.clarity.refresh",
            ] + (isKept ? ["CLARITY_REPORT=/nowhere/me.7.2.report"] : []) + [
                "CLARITY_RUN=7", "CLARITY_SCHEDULED_FOR=2023-11-14T22:13:20Z", "GREETING=good day",
                "PATH=/usr/bin:/bin", "0 /dev/null", "1 pipe", "2 pipe",
            ])
    }

    @Test func `of an output without end the beginning and the end are kept`() async throws {
        let end = try await run(
            ["sh", "-c", "echo begin; head -c 5000000 /dev/zero; echo end"],
            ["output_limit": "1024"])

        let output = try #require(end.output)
        #expect(output.head.count == 512 && output.tail.count == 512)
        #expect(output.leftOutBytes == 5_000_000 + 6 + 4 - 1024)
        #expect(output.head.starts(with: "begin\n".utf8))
        #expect(output.tail.suffix(4).elementsEqual("end\n".utf8))
    }

    /// `FOLDER` in a program or an option is an empty folder.
    @Test(arguments: [
        ("no-such-program-of-ours", [:], "the program is not found in PATH"),
        ("FOLDER/program", [:], "the program cannot be run: no such file or directory"),
        ("/etc/passwd", [:], "the program cannot be run: permission denied"),
        (
            "true", ["folder": "FOLDER/none"],
            "its `folder` is none, or may not be looked at"
        ),
    ])
    func `a command that cannot be started fails for good`(
        program: String, options: [String: String], reason: String
    ) async throws {
        let folder = try TemporaryFolder()
        let end = try await run(
            [program.replacing("FOLDER", with: folder.path)],
            options.mapValues { $0.replacing("FOLDER", with: folder.path) })

        #expect(end == AttemptEnd(.reported(.failure(Failure(.configuration, reason)))))
    }

    @Test(
        arguments: [false, true],
        [
            (
                "#!/bin/sh\r\necho hi\r\n",
                "the program cannot be run: its first line names `/bin/sh` with a Windows line end: "
                    + "save it with Unix line ends"
            ),
            ("echo hi\n", "the program cannot be run: it lacks a first line such as `#!/bin/sh`"),
            ("#!/bin/sh\nexit 127\n", "exited with status 127 (not found)"),
        ])
    func `the reason says what the first line of a script lacks`(
        isKept: Bool, script: (String, String)
    ) async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("script", script.0.utf8)
        try #require(chmod(path, 0o700) == 0)

        let end = try await run([path], keeper: isKept ? Self.keeper : nil)

        #expect(end.result == .reported(.failure(Failure(.configuration, script.1))))
    }

    @Test func `a warning is SIGTERM, and what the program makes of it counts`() async throws {
        let end = try await run(
            ["sh", "-c", "trap 'echo stopped in time; exit 75' TERM; echo go; while :; do :; done"]
        ) { $0.yield(.warn) }

        #expect(
            end.result
                == .reported(
                    .retry(
                        after: nil,
                        Failure(.work, "exited with status 75 (later): stopped in time"))))
    }

    @Test func `a kill ends a command with all that it started`() async throws {
        let end = try await run(["sh", "-c", "sleep 1000 & echo $!; wait"]) { $0.yield(.kill) }

        #expect(end.result == .broke(.killedBySignal(SIGKILL)))
        let child = try #require(Int64(text(end).dropLast()))
        #expect(!ScriptWorker.isAlive(child))
    }

    @Test func `a process that a command leaves behind breaks the attempt`() async throws {
        let end = try await run(["sh", "-c", "sleep 1000 & echo $!"])

        #expect(end.result == .broke(.leftProcessesBehind))
        let child = try #require(Int64(text(end).dropLast()))
        #expect(!ScriptWorker.isAlive(child))
    }

    @Test func `a command beyond its memory limit is ended`() async throws {
        let end = try await run(
            ["sh", "-c", "x=$(head -c 100000000 /dev/zero | tr '\\0' x); sleep 1000"],
            memoryLimitBytes: 32 << 20)

        guard case .broke(.memoryLimitExceeded(let limit, _)) = end.result else {
            // The kernel's own limit may take effect first; then the shell reports an error and
            // fails.
            #expect(end.result != .reported(.success))
            return
        }
        #expect(limit == 32 << 20)
    }

    @Test func `some kinds have workers of their own`() async throws {
        let clock = ManualClock(Instant(secondsSince1970: 0))
        let worker = WorkerByKind(
            [
                JobKind("refresh"): CommandWorker(
                    environment: ["PATH": "/usr/bin:/bin"], keeper: nil, clock: clock)
            ],
            others: ScriptWorker.make("report outcome success"))
        var command = try ScriptWorker.order(options: ["command": "echo"])
        let first = await worker.run(command, signals: .finished) { _, _ in }
        command.kind = JobKind("other")

        let second = await worker.run(command, signals: .finished) { _, _ in }

        #expect(first.output == AttemptOutput(head: [0x0A]) && second.output == nil)
        #expect(second.result == .reported(.success))
    }
}
