import ClarityScheduler
import Platform
import ClarityTestSupport
import FoundationEssentials
import Glibc
import Testing

@testable import ClarityHost

/// Tests the environment in which a worker starts, and that it leaves nothing behind.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ProcessSurroundingsTests {
    /// A script that reports the open descriptors below 100 as a note, without opening any.
    static let descriptors = """
        open=""
        n=0
        while [ $n -lt 100 ]; do
            [ -e /proc/$$/fd/$n ] && open="$open $n"
            n=$((n + 1))
        done
        report "note$open"
        """

    @Test func `a worker finds descriptors 0 to 5 and no other`() async throws {
        let lock = Descriptor(owning: open("/dev/zero", O_RDONLY | O_CLOEXEC))
        let number = lock.number
        // Inheritable, as a careless library would open it.
        let stray = Descriptor(owning: open("/dev/null", O_RDONLY))
        let script =
            Self.descriptors + """

                for n in 0 1 5; do report note $(readlink /proc/$$/fd/$n); done
                report outcome success
                """

        let end = try await ScriptWorker.run(
            script, environment: ["PATH": "/usr/bin:/bin"],
            proof: AttemptProof { _ in fcntl(number, F_DUPFD_CLOEXEC, 0) })

        #expect(stray.number > 5)
        #expect(end.notes == ["0 1 2 3 4 5", "/dev/null", "/dev/null", "/dev/zero"])
        #expect(fcntl(lock.number, F_GETFD) & FD_CLOEXEC != 0, "ours is as it was")
    }

    @Test func `without a lock of the attempt there is no descriptor 5`() async throws {
        let end = try await ScriptWorker.run(Self.descriptors + "\nreport outcome success")

        #expect(end.notes == ["0 1 2 3 4"])
    }

    @Test func `an attempt without its lock is not started`() async throws {
        let end = try await ScriptWorker.run(
            "exit 0",
            proof: AttemptProof { _ throws(StateDirectoryError) in
                throw StateDirectoryError(path: "/state/attempts", errno: ENOSPC)
            })

        guard case .broke(.notStarted(let text)) = end.result else {
            Issue.record("\(end.result)")
            return
        }
        #expect(text.hasPrefix("cannot lock the attempt ("), "\(text)")
    }

    @Test func `a worker finds exactly the environment given`() async throws {
        let script = """
            report note $(tr '\\0' ' ' < /proc/$$/environ)
            report outcome success
            """

        let end = try await ScriptWorker.run(
            script, environment: ["PATH": "/usr/bin:/bin", "CLARITY_JOBS_KEY": "00ff"])

        #expect(end.notes == ["CLARITY_JOBS_KEY=00ff PATH=/usr/bin:/bin"])
    }

    @Test func `a worker leads its own group with no signal blocked or ignored`() async throws {
        let script = """
            while read -r name value; do
                case $name in SigBlk:|SigIgn:) report "note $name $value" ;; esac
            done < /proc/$$/status
            read -r pid name state parent group rest < /proc/$$/stat
            report note $((group - pid))
            report outcome success
            """

        let end = try await ScriptWorker.run(script)

        // Signals 32 and 33 belong to Glibc; `posix_spawn` makes every child ignore them.
        #expect(end.notes == ["SigBlk: 0000000000000000", "SigIgn: 0000000180000000", "0"])
    }

    @Test func `limits stand before the order arrives`() async throws {
        let script = """
            order
            while read -r line; do
                case $line in "Max core file"*|"Max data"*) report note $line ;; esac
            done < /proc/$$/limits
            report outcome success
            """

        let end = try await ScriptWorker.run(
            script, order: try ScriptWorker.order(memoryLimitBytes: 64 << 20))

        let data = (2 * 64 + 256) << 20
        #expect(
            end.notes == ["Max data size \(data) \(data) bytes", "Max core file size 1 1 bytes"])
    }

    /// Returns what each open descriptor of this process is, such as `7 pipe:[1234]`. Only in a
    /// process that runs a single test is a change in it the doing of that test.
    static func openDescriptors() async throws -> [String] {
        // Lets the runtime open the descriptors of its timers, which it does when it first waits for
        // one. A machine with much to do is past a shorter time before it waits.
        try await Task.sleep(for: .milliseconds(200))
        let folder = "/proc/self/fd"
        // The descriptor of the listing itself is closed by then and has no destination.
        return try FileManager.default.contentsOfDirectory(atPath: folder).compactMap { number in
            let destination = try? FileManager.default.destinationOfSymbolicLink(
                atPath: "\(folder)/\(number)")
            return destination.map { "\(number) \($0)" }
        }.sorted()
    }

    @Test(arguments: [
        "report count process $$; report outcome success",
        "report count process $$; sleep 1000 & report outcome success",
        "report count process $$; echo garbage >&4; read forever <&3; order; read forever <&3",
    ])
    func `50 attempts leave no descriptor and no process`(_ script: String) async throws {
        await #expect(processExitsWith: .success) { [script] in
            // The runtime opens descriptors of its own when it first needs them.
            for _ in 0..<5 { _ = try await ScriptWorker.run(script) }
            let before = try await Self.openDescriptors()

            var processes: [Int64] = []
            for _ in 0..<50 {
                processes.append(try await ScriptWorker.run(script).tally["process"])
            }
            let after = try await Self.openDescriptors()

            #expect(after == before, "\(Set(after).symmetricDifference(before))")
            #expect(processes.allSatisfy { $0 > 0 })
            #expect(processes.filter(ScriptWorker.hasChild).isEmpty)
        }
    }

    @Test func `failed starts leave no descriptor`() async throws {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            let worker = ProcessWorker(
                executable: ["\(folder.path)/none"], environment: [:], proof: nil)
            let order = try ScriptWorker.order()
            _ = await worker.run(order, signals: AsyncStream { _ in }, progress: { _, _ in })
            let before = try await Self.openDescriptors()

            for _ in 0..<50 {
                _ = await worker.run(order, signals: AsyncStream { _ in }, progress: { _, _ in })
            }
            let after = try await Self.openDescriptors()

            #expect(after == before)
        }
    }

    /// Makes this process the parent of its orphaned descendants, or undoes that. The first process
    /// of a container is such a parent.
    static func adoptOrphans(_ isOn: Bool) throws {
        typealias Control = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
        let symbol = try #require(dlsym(dlopen(nil, RTLD_NOW), "prctl"))
        let setChildSubreaper: Int32 = 36
        let control = unsafeBitCast(symbol, to: Control.self)
        #expect(control(setChildSubreaper, isOn ? 1 : 0, 0, 0, 0) == 0)
    }

    @Test func `an orphan that has ended is reaped and not held against its worker`() async throws {
        try Self.adoptOrphans(true)
        // While the shell only polls, it reaps no child.
        let script = """
            (exit 0) &
            report count child $!
            while read -r pid name state rest < /proc/$!/stat && [ "$state" != Z ]; do :; done
            report outcome success
            """

        let end = try await ScriptWorker.run(script)
        try Self.adoptOrphans(false)

        #expect(end.result == .reported(.success))
        #expect(end.tally["child"] > 0)
        #expect(!ScriptWorker.hasChild(end.tally["child"]))
    }

    @Test func `an orphan that still runs is killed and reaped`() async throws {
        try Self.adoptOrphans(true)

        let end = try await ScriptWorker.run(
            "sleep 1000 & report count child $!; report outcome success",
            environment: ["PATH": "/usr/bin:/bin"])
        try Self.adoptOrphans(false)

        #expect(end.result == .broke(.leftProcessesBehind))
        #expect(end.tally["child"] > 0)
        #expect(!ScriptWorker.hasChild(end.tally["child"]))
    }

    @Test func `attempts side by side take no thread from the pool`() async throws {
        // All 20 attempts must have started before the first is warned. If attempts blocked the
        // pool's threads, of which there is one per processor, the last would never start.
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let order = try ScriptWorker.order()

        let ends = await withTaskGroup(of: AttemptEnd.self) { group in
            var signals: [AsyncStream<AttemptSignal>.Continuation] = []
            for _ in 0..<20 {
                let (stream, continuation) = AsyncStream.makeStream(of: AttemptSignal.self)
                signals.append(continuation)
                group.addTask {
                    await ScriptWorker.make(
                        // A signal ends `wait` even if it came just before; it would not end `read`.
                        // The child may still be the shell, which would catch another signal.
                        "trap 'kill -KILL $!; wait; report outcome success; exit 0' TERM; "
                            + "sleep 1000 & report progress 0 1; order; wait",
                        environment: ["PATH": "/usr/bin:/bin"]
                    ).run(order, signals: stream) { _, _ in arrival.yield() }
                }
            }
            var waiting = arrivals.makeAsyncIterator()
            for _ in 0..<20 { await waiting.next() }
            for continuation in signals { continuation.yield(.warn) }
            return await group.reduce(into: []) { $0.append($1) }
        }

        #expect(ends.map(\.result) == Array(repeating: .reported(.success), count: 20))
    }
}
