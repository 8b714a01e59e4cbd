import ClarityScheduler
import Glibc
import Testing

@testable import ClarityHost

/// Tests how the memory of an attempt is measured and limited.
@Suite(.timeLimit(.minutes(5))) struct ProcessMemoryTests {
    static let mebibyte: Int64 = 1 << 20

    /// Returns a script with which the shell holds at least this many mebibytes in `x`.
    static func hold(_ mebibytes: Int) -> String {
        """
        x=xxxxxxxxxxxxxxxx
        while [ ${#x} -lt \(mebibytes << 20) ]; do x=$x$x; done

        """
    }

    @Test func `a worker above its limit is killed`() async throws {
        let limit = 48 * Self.mebibyte
        let script = Self.hold(96) + "report note full; order; read forever <&3"

        let end = try await ScriptWorker.run(
            script, order: try ScriptWorker.order(memoryLimitBytes: limit))

        guard case .broke(.memoryLimitExceeded(limit, let measured)) = end.result else {
            Issue.record("\(end.result)")
            return
        }
        #expect(measured > limit)
        #expect(end.peakMemoryBytes >= measured)
    }

    @Test func `the memory of its children is a worker's own`() async throws {
        let limit = 48 * Self.mebibyte
        // `tail` holds the last line in memory, and the whole input is one line.
        let script = "head -c 100000000 /dev/zero | { tail -n 1 | { order; read forever <&3; }; }"

        let end = try await ScriptWorker.run(
            script, order: try ScriptWorker.order(memoryLimitBytes: limit),
            environment: ["PATH": "/usr/bin:/bin"])

        guard case .broke(.memoryLimitExceeded(limit, let measured)) = end.result else {
            Issue.record("\(end.result)")
            return
        }
        #expect(measured > limit)
    }

    @Test func `memory that a worker shares with its child counts once`() async throws {
        let script =
            Self.hold(32) + """
                order
                (read forever <&3) &
                trap 'kill -KILL $!; wait; report outcome success; exit 0' TERM
                report progress $$ 0
                wait
                """
        let order = try ScriptWorker.order(memoryLimitBytes: 0)
        let (measures, measure) = AsyncStream.makeStream(of: (Int64, Int64, Int).self)

        let end = try await ScriptWorker.run(script, order: order) { process, _, signals in
            let group = ProcessGroup(leader: pid_t(process))
            let memory = group.memory()
            measure.yield((memory.residentBytes, group.proportionalBytes(), memory.processes))
            measure.finish()
            signals.yield(.warn)
        }

        var iterator = measures.makeAsyncIterator()
        let (resident, proportional, processes) = try #require(await iterator.next())
        #expect(end.result == .reported(.success))
        #expect(processes == 2)
        #expect(resident > 64 * Self.mebibyte)
        #expect((32 * Self.mebibyte..<60 * Self.mebibyte).contains(proportional))
    }

    @Test func `the peak is the worker's and not what it began with`() async throws {
        // This process is far larger than a shell that does nothing.
        var ballast = [UInt8](repeating: 1, count: 200 << 20)
        ballast[ballast.count - 1] = 2

        // A single write, so that the outcome is read and the memory measured before the warning.
        let script = """
            trap 'exit 0' TERM
            order
            printf 'progress 0 1\\noutcome success\\n' >&4
            while :; do sleep 0.05; done
            """

        let small = try await ScriptWorker.run(script) { _, _, signals in signals.yield(.warn) }

        #expect(ballast.last == 2)
        #expect(small.result == .reported(.success))
        #expect(small.peakMemoryBytes > 0)
        #expect(small.peakMemoryBytes < 32 * Self.mebibyte)
    }
}
