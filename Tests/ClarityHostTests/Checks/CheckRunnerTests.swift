import ClarityScheduler
import ClarityTestSupport
import Glibc
import Testing

@testable import ClarityHost

/// Runs checks as real processes. Time limits that a test does not wait for are 30 seconds or more,
/// so that only the limit under test can expire.
@Suite(.timeLimit(.minutes(5))) struct CheckRunnerTests {
    @Test(
        arguments: [
            ("exit 0", true, "exit 0 in 0 ms"), ("exit 32", false, "exit 32 in 0 ms"),
            ("kill -KILL $$", nil, "killed by signal 9"),
            ("kill -TERM $$", nil, "killed by signal 15"),
            (
                "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; exit 3", false,
                "exit 3 in 0 ms"
            ),
            ("cat; exit 4", false, "exit 4 in 0 ms"),
        ] as [(String, Bool?, String)])
    func `a command answers by how it ends, whatever it writes`(
        script: String, value: Bool?, text: String
    ) async throws {
        let bench = try CheckBench()

        let answer = try await bench.answer(bench.script("c", script))

        #expect(answer == bench.reading(value, "command sh: " + text))
    }

    @Test func `a command that hangs is killed at its time limit and unknown`() async throws {
        let bench = try CheckBench()
        let check = bench.script(
            "c", "echo $$ > $F/process; trap '' TERM; while :; do echo flood; done",
            timeout: .milliseconds(300))

        let answer = try await bench.answer(check)

        #expect(answer == bench.reading(nil, "command sh: no answer within 300 ms"))
        #expect(!ScriptWorker.hasChild(try bench.number("process")))
    }

    @Test(arguments: [
        ("sleep 1000 & echo $! > $F/child; exit 0", 30_000, "exit 0 in 0 ms"),
        ("sleep 1000 & echo $! > $F/child; wait", 300, "no answer within 300 ms"),
        (
            "(trap '' TERM HUP; sleep 1000) & echo $! > $F/child; kill -KILL $$", 30_000,
            "killed by signal 9"
        ),
    ])
    func `a process that a command leaves behind is killed`(
        script: String, milliseconds: Int64, text: String
    ) async throws {
        let bench = try CheckBench()
        let check = bench.script("c", script, timeout: .milliseconds(milliseconds))

        let answer = try await bench.answer(check)

        #expect(answer?.source == "command sh: " + text)
        #expect(try bench.number("child") > 0)
        #expect(!ScriptWorker.isAlive(try bench.number("child")))
    }

    @Test func `a process that has left the group holds up no answer`() async throws {
        let bench = try CheckBench()
        let check = bench.script(
            "c",
            "setsid sh -c 'echo $$ > '$F'/child; exec sleep 1000' & "
                + "until [ -s $F/child ]; do :; done; exit 0")

        let answer = try await bench.answer(check)

        kill(pid_t(try bench.number("child")), SIGKILL)
        #expect(answer == bench.reading(true, "command sh: exit 0 in 0 ms"))
    }

    /// `FOLDER` is the bench's folder.
    @Test(arguments: [
        ("FOLDER/ask", "cannot be started: No such file or directory"),
        ("/dev/null", "cannot be started: Permission denied"),
        ("clarity-no-such-program", "not found in PATH"), ("bin/ask", "not found in PATH"),
    ])
    func `a command that cannot be started is unknown`(program: String, text: String) async throws {
        let bench = try CheckBench()
        let program = program.replacing("FOLDER", with: bench.folder.path)

        let answer = try await bench.answer(
            CheckDeclaration(name: "c", question: .command([program])))

        #expect(answer == bench.reading(nil, "command \(program): \(text)"))
    }

    @Test func `a command that vanishes is unknown when it is asked again`() async throws {
        let bench = try CheckBench()
        let program = try bench.folder.write("ask", "#!/bin/sh\nexit 0\n".utf8)
        chmod(program, 0o700)
        let runner = bench.runner(CheckDeclaration(name: "c", question: .command([program])))

        let first = try await blocking { runner.settle(["c"]) }
        unlink(program)
        let second = try await blocking { runner.settle(["c"]) }

        #expect(first["c"]?.value == true)
        #expect(
            second["c"]
                == bench.reading(
                    nil, "command \(program): cannot be started: No such file or directory"))
    }

    @Test func `a name that no check has is unknown at once`() throws {
        let bench = try CheckBench()
        let runner = bench.runner()

        runner.ask(["nas"])

        #expect(
            runner.answers == [
                "nas": bench.reading(nil, "the job file has no check of that name")
            ])
    }

    @Test func `nothing is asked before somebody asks`() throws {
        let bench = try CheckBench()
        let runner = bench.runner(bench.script("c", "exit 0"))

        #expect(runner.answers == [:])
        #expect(runner.settle([]) == [:])
    }

    @Test func `an answer stands with its instant until the next comes`() async throws {
        let bench = try CheckBench()
        let runner = bench.runner(
            bench.script("a", "[ ! -e $F/changed ]"), bench.script("b", "exit 0"))

        let first = try await blocking { runner.settle(["a", "b"]) }
        let before = bench.clock.now
        bench.clock.advance(by: .seconds(90))
        try bench.folder.write("changed", [])
        let second = try await blocking { runner.settle(["a"]) }

        #expect(
            first["a"]
                == Conditions.Reading(
                    true, source: "command sh: exit 0 in 0 ms", at: before))
        #expect(second == ["a": bench.reading(false, "command sh: exit 1 in 0 ms")])
        #expect(runner.answers["b"]?.at == before)
    }

    @Test func `at most eight are asked at once`() async throws {
        let bench = try CheckBench()
        let (started, go) = (try bench.pipe("started"), try bench.pipe("go"))
        mkdir("\(bench.folder.path)/running", 0o700)
        let checks = (0..<20).map { number in
            bench.script(
                "c\(number)",
                """
                mkdir $F/running/$$
                ls $F/running | wc -l >> $F/seen
                echo >> $F/started
                read line < $F/go
                rmdir $F/running/$$
                """)
        }
        let names = Set(checks.map(\.name))
        let runner = CheckRunner(
            checks, urlProgram: nil, environment: ["PATH": "/usr/bin:/bin"], clock: bench.clock)

        runner.ask(names)
        try await blocking {
            started.takeLines(8)
            // 40 lines for 20 checks: `settle` asks again the checks that have already answered.
            go.giveLines(40)
        }
        let answers = try await blocking { runner.settle(names) }

        let seen = try bench.text("seen").split(separator: "\n").compactMap { Int($0) }
        #expect(answers.count == 20)
        #expect(answers.values.allSatisfy { $0.value == true })
        #expect(seen.max() == 8)
    }

    @Test func `more checks than have places are given up after the longest time`() async throws {
        let bench = try CheckBench()
        let checks = (0..<40).map {
            bench.script("c\($0)", "sleep 1000", timeout: .milliseconds(600))
        }
        let names = Set(checks.map(\.name))
        let runner = CheckRunner(
            checks, urlProgram: nil, environment: ["PATH": "/usr/bin:/bin"], clock: bench.clock)

        let answers = try await blocking { runner.settle(names) }
        runner.end()

        #expect(Set(answers.keys) == names)
        #expect(answers.values.allSatisfy { $0.value == nil })
        let sources = Set(answers.values.map(\.source))
        // On a busy machine the runner may give up before it has asked any check.
        #expect(
            sources.subtracting(["command sh: no answer within 600 ms"])
                == ["command sh: not asked yet"])
    }

    // MARK: Changes

    /// Returns the first answer that an event thread receives after `begin`.
    private func changes(of runner: CheckRunner, on events: EventThread) -> AsyncStream<Void> {
        events.elements(of: [runner.announcement()].compactMap(\.self))
    }

    private func heard(
        _ runner: CheckRunner, _ name: String, _ begin: @escaping @Sendable () throws -> Void
    ) async throws -> Conditions.Reading<Bool>? {
        try await blocking {
            let events = try #require(EventThread())
            return try events.run {
                let changes = changes(of: runner, on: events)
                try begin()
                for await _ in changes { return runner.answers[name] }
                return nil
            }
        }
    }

    @Test func `a listener gets the answer of a check`() async throws {
        let bench = try CheckBench()
        let runner = bench.runner(bench.script("c", "exit 0"))

        let answer = try await heard(runner, "c") { runner.ask(["c"]) }

        #expect(answer == bench.reading(true, "command sh: exit 0 in 0 ms"))
    }

    @Test func `a listener gets the refusal of an unknown check`() async throws {
        let bench = try CheckBench()
        let runner = bench.runner()

        let answer = try await heard(runner, "c") { runner.ask(["c"]) }

        #expect(answer?.value == nil && answer != nil)
    }

    @Test func `every listener hears of every answer`() async throws {
        let bench = try CheckBench()
        let runner = bench.runner(bench.script("a", "exit 0"), bench.script("b", "exit 0"))

        let heard = try await blocking {
            let events = try #require(EventThread())
            return events.run {
                var counts: [Int] = []
                var one = changes(of: runner, on: events).makeAsyncIterator()
                var other = changes(of: runner, on: events).makeAsyncIterator()
                for name in ["a", "b"] {
                    runner.ask([name])
                    while runner.answers[name] == nil { await one.next() }
                    await other.next()
                    counts.append(runner.answers.count)
                }
                return counts
            }
        }

        #expect(heard == [1, 2])
    }

    @Test func `a check that is being asked is not asked again`() async throws {
        let bench = try CheckBench()
        let (started, go) = (try bench.pipe("started"), try bench.pipe("go"))
        let runner = bench.runner(
            bench.script("c", "echo asked >> $F/log; echo >> $F/started; read line < $F/go"))

        let answer = try await heard(runner, "c") {
            runner.ask(["c"])
            runner.ask(["c"])
            started.takeLines(1)
            runner.ask(["c"])
            go.giveLines(1)
        }

        #expect(answer?.value == true)
        #expect(try bench.text("log") == "asked")
    }

    @Test func `an answer to a former declaration of a check does not count`() async throws {
        let bench = try CheckBench()
        let (started, go) = (try bench.pipe("started"), try bench.pipe("go"))
        let runner = bench.runner(bench.script("c", "echo >> $F/started; read line < $F/go"))

        let answer = try await heard(runner, "c") {
            runner.ask(["c"])
            started.takeLines(1)
            runner.declare([bench.script("c", "exit 1")])
            go.giveLines(1)
        }
        let now = try await blocking { runner.settle(["c"])["c"] }

        #expect(answer == nil)
        #expect(now == bench.reading(false, "command sh: exit 1 in 0 ms"))
    }

    @Test func `at the end what is asked is killed and nothing more is asked`() async throws {
        let bench = try CheckBench()
        let started = try bench.pipe("started")
        let runner = bench.runner(
            bench.script("c", "sleep 1000 & echo $! > $F/child; echo >> $F/started; wait"),
            bench.script("d", "exit 0"))

        let answer = try await heard(runner, "c") {
            runner.ask(["c"])
            started.takeLines(1)
            runner.end()
        }
        runner.ask(["d", "e"])

        #expect(answer == bench.reading(nil, "command sh: killed by signal 9"))
        #expect(!ScriptWorker.isAlive(try bench.number("child")))
        #expect(Set(runner.answers.keys) == ["c"])
    }
}
