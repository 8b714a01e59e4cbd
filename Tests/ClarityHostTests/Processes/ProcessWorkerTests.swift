import ClarityScheduler
import ClarityTestSupport
import Glibc
import Testing

@testable import ClarityHost

/// Tests the reports of attempts, and how attempts end.
@Suite(.timeLimit(.minutes(5))) struct ProcessWorkerTests {
    @Test func `a worker gets its order and its reports are collected`() async throws {
        let script = """
            lines=0
            while IFS= read -r line <&3; do
                lines=$((lines + 1))
                case $line in
                checkpoint=*) report "checkpoint ${line#checkpoint=} read" ;;
                option.page_size=*) report "count page_size ${line#option.page_size=}" ;;
                end) break ;;
                esac
            done
            report "count lines $lines"
            report "note done"
            report "outcome success"
            """
        let order = try ScriptWorker.order(options: ["page_size": "50", "retain": "1"])

        let end = try await ScriptWorker.run(script, order: order)

        #expect(end.result == .reported(.success))
        #expect(end.tally.summary == "50 page size, \(order.lines.count) lines")
        #expect(end.notes == ["done"])
        #expect(end.checkpoint == "page 4 read")
    }

    @Test(arguments: [
        ("outcome failure credential no key", Outcome.failure(Failure(.credential, "no key"))),
        (
            "outcome retry 1500 unreachable no answer",
            .retry(after: .milliseconds(1500), Failure(.unreachable, "no answer"))
        ),
        ("outcome retry - work later", .retry(after: nil, Failure(.work, "later"))),
    ])
    func `failures and retries count whatever the exit status`(
        _ line: String, _ outcome: Outcome
    ) async throws {
        let plain = try await ScriptWorker.run("report '\(line)'")
        let failed = try await ScriptWorker.run("report '\(line)'; exit 3")

        #expect(plain.result == .reported(outcome))
        #expect(failed.result == .reported(outcome))
    }

    @Test func `what a worker tells of is part of its end, whatever that is`() async throws {
        let end = try await ScriptWorker.run(
            "report event upload-completed; report outcome awaits external_power work large")
        let broken = try await ScriptWorker.run("report event upload-completed; exit 3")

        #expect(end.result == .reported(.awaits(.externalPower, Failure(.work, "large"))))
        #expect(end.events == [EventName("upload-completed")])
        #expect(broken.events == [EventName("upload-completed")])
    }

    @Test(arguments: [
        ("exit 0", AttemptFault.exitedWithoutReport(status: 0)),
        ("exit 3", .exitedWithoutReport(status: 3)),
        ("report outcome success; exit 1", .exitedWithoutReport(status: 1)),
        ("report outcome success; kill -ABRT $$", .killedBySignal(SIGABRT)),
        ("kill -KILL $$", .killedBySignal(SIGKILL)),
        ("report note half; printf 'count x 12' >&4; kill -SEGV $$", .killedBySignal(SIGSEGV)),
        (
            "printf 'outcome success' >&4",
            .malformedReport("line 1: expected a newline at the end")
        ),
        (
            "echo oops >&4; read forever <&3; order; read forever <&3",
            .malformedReport(
                "line 1: expected `progress`, `count`, `fact`, `note`, `checkpoint`, `event` or `outcome`"
            )
        ),
        (
            "head -c 100000 /dev/zero >&4; order; read forever <&3",
            .malformedReport("line 1: expected at most 4096 bytes")
        ),
    ])
    func `a worker without a valid last word is broken`(
        _ script: String, _ fault: AttemptFault
    ) async throws {
        let end = try await ScriptWorker.run(script)

        #expect(end.result == .broke(fault))
    }

    @Test func `a program that cannot be run is told with the system's reason`() async throws {
        let none = "\(try TemporaryFolder().path)/worker"

        for (executable, reason) in [
            ([none], "cannot start `\(none)`: No such file or directory"),
            (["/etc/passwd"], "cannot start `/etc/passwd`: Permission denied"),
            (
                ["/bin/sh", String(repeating: "x", count: 200_000)],
                "cannot start `/bin/sh`: Argument list too long"
            ),
        ] {
            try await expect(executable, notStarted: reason)
        }
    }

    private func expect(_ executable: [String], notStarted reason: String) async throws {
        let worker = ProcessWorker(executable: executable, environment: [:], proof: nil)

        let end = await worker.run(
            try ScriptWorker.order(), signals: AsyncStream { $0.finish() }, progress: { _, _ in })

        #expect(end == AttemptEnd(.broke(.notStarted(reason))))
    }

    @Test func `a worker that never reads a large order does not hold anything up`() async throws {
        let order = try ScriptWorker.order(
            options: ["large": String(repeating: "x", count: 300_000)])

        let end = try await ScriptWorker.run("report outcome success", order: order)

        #expect(end.result == .reported(.success))
    }

    @Test func `a worker that closes its order is not sent more of it`() async throws {
        let order = try ScriptWorker.order(
            options: ["large": String(repeating: "x", count: 300_000)])

        let end = try await ScriptWorker.run(
            "exec 3<&-; report outcome success", order: order)

        #expect(end.result == .reported(.success))
    }

    @Test func `a large order arrives whole`() async throws {
        let order = try ScriptWorker.order(
            options: ["large": String(repeating: "x", count: 300_000)])
        let bytes = order.lines.reduce(0) { $0 + $1.utf8.count + 1 }

        let end = try await ScriptWorker.run(
            "report count bytes $(head -c \(bytes) <&3 | wc -c); report outcome success",
            order: order)

        #expect(end.tally["bytes"] == Int64(bytes))
        #expect(end.result == .reported(.success))
    }

    @Test func `a warning is SIGTERM, and the order stays open until then`() async throws {
        // The shell does not read itself: a signal just before a read would not interrupt it.
        let script = """
            trap 'kill -9 $reader; wait $reader; report checkpoint here
                report "outcome retry - work warned"; exit 0' TERM
            order
            { read forever <&3; report "outcome failure work the order ended"; } & reader=$!
            report progress 0 1
            while sleep 0.05; do :; done
            """

        let end = try await ScriptWorker.run(script) { _, _, signals in signals.yield(.warn) }

        #expect(end.result == .reported(.retry(after: nil, Failure(.work, "warned"))))
        #expect(end.checkpoint == "here")
    }

    @Test func `a worker that passes over its warning is killed`() async throws {
        let script = """
            trap 'report progress 1 1' TERM
            order
            report note started
            report progress 0 1
            while :; do sleep 0.05; done
            """

        let end = try await ScriptWorker.run(script) { done, _, signals in
            signals.yield(done == 0 ? .warn : .kill)
        }

        #expect(end.result == .broke(.killedBySignal(SIGKILL)))
        #expect(end.notes == ["started"])
    }

    @Test func `killing reaches the processes that a worker started`() async throws {
        let script = """
            sleep 1000 &
            report count child $!
            report progress 0 1
            wait
            """

        let end = try await ScriptWorker.run(script) { _, _, signals in signals.yield(.kill) }

        #expect(end.result == .broke(.killedBySignal(SIGKILL)))
        #expect(!ScriptWorker.isAlive(end.tally["child"]))
    }

    @Test func `a process left behind is killed and breaks a success`() async throws {
        let script = """
            sleep 1000 &
            report count child $!
            report outcome success
            """

        let end = try await ScriptWorker.run(script)

        #expect(end.result == .broke(.leftProcessesBehind))
        #expect(end.tally["child"] > 0)
        #expect(!ScriptWorker.isAlive(end.tally["child"]))
    }

    @Test func `cancelling the task kills and reaps the worker`() async throws {
        let (started, start) = AsyncStream.makeStream(of: Int64.self)
        let order = try ScriptWorker.order()
        let attempt = Task {
            await ScriptWorker.make("report progress $$ 0; order; read forever <&3").run(
                order, signals: AsyncStream { _ in }
            ) { process, _ in start.yield(process) }
        }
        var processes = started.makeAsyncIterator()
        let process = try #require(await processes.next())
        #expect(ScriptWorker.hasChild(process))

        attempt.cancel()
        let end = await attempt.value

        #expect(end.result == .broke(.killedBySignal(SIGKILL)))
        #expect(!ScriptWorker.hasChild(process))
    }

    @Test func `a task that is already cancelled starts nothing`() async throws {
        let order = try ScriptWorker.order()
        let attempt = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await ScriptWorker.make("report outcome success").run(
                order, signals: AsyncStream { _ in }, progress: { _, _ in })
        }

        let end = await attempt.value

        #expect(end.result == .broke(.notStarted("cancelled before it started")))
    }
}
