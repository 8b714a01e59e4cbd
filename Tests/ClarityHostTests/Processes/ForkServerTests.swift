import CLinux
import ClarityTestSupport
import Glibc
import Platform
import Testing

@testable import ClarityHost

@Suite("Forks for attempts", .timeLimit(.minutes(2)))
struct ForkServerTests {
    private static let program = "\(ChildProgram.folder)/fork-probe"

    /// A fork and the other ends of its pipes.
    private struct Fork {
        let process: pid_t
        var orders: Int32
        let reports: Int32

        /// Reads what it says, and reaps it.
        mutating func finish() -> (facts: [String: [String]], status: Int32) {
            close(orders)
            var text: [UInt8] = []
            var bytes = [UInt8](repeating: 0, count: 4096)
            while case let count = read(reports, &bytes, bytes.count), count > 0 {
                text += bytes[..<count]
            }
            close(reports)
            var status: Int32 = 0
            waitpid(process, &status, 0)
            var facts: [String: [String]] = [:]
            for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
                let words = line.split(separator: " ", maxSplits: 1).map(String.init)
                facts[words[0], default: []].append(words[1])
            }
            return (facts, status)
        }
    }

    /// Asks for a fork; `nil` if the caller has to start a process itself.
    private func fork(
        _ server: ForkServer, _ variables: [String: String] = ["A": "1"]
    ) throws -> Fork? {
        let orders = try Pipe(from: ProcessStart.firstFree)
        let reports = try Pipe(from: ProcessStart.firstFree)
        let started = try server.start(
            variables, [orders.readEnd.number, reports.writeEnd.number])
        guard let process = started else { return nil }
        return Fork(
            process: process, orders: fcntl(orders.writeEnd.number, F_DUPFD_CLOEXEC, 0),
            reports: fcntl(reports.readEnd.number, F_DUPFD_CLOEXEC, 0))
    }

    private func server(
        busy: Int = 1, idle: Duration = .seconds(60), patience: Duration = .seconds(10),
        longest: Duration = .seconds(900), _ words: [String] = [program]
    ) -> ForkServer {
        ForkServer(
            words,
            ForkServer.Policy(busy: busy, idle: idle, patience: patience, longest: longest))
    }

    @Test func `there is a server once several attempts have started within a short time`() throws {
        let server = server(busy: 3)

        #expect(try fork(server) == nil)
        #expect(try fork(server) == nil)
        #expect(server.process == nil)
        var third = try #require(try fork(server))

        #expect(server.process != nil)
        #expect(third.finish().status == 0)
    }

    @Test func `attempts that are far apart get no server`() throws {
        let server = server(busy: 2, idle: .zero)

        for _ in 0..<4 { #expect(try fork(server) == nil) }

        #expect(server.process == nil)
    }

    @Test func `a fork is a child in a group of its own, with nothing but what it is given`() throws
    {
        setenv("CLARITY_TEST_SECRET", "it has one", 1)
        let server = server()

        var found = try #require(try fork(server, ["A": "1", "B": "x y=z", "C": ""]))
        let (facts, status) = found.finish()

        #expect(status == 0)
        #expect(facts["parent"] == ["\(getpid())"])
        #expect(facts["group"] == ["true"])
        #expect(facts["thread"] == ["true"])
        #expect(facts["descriptors"] == ["[0, 1, 2, 3, 4]"])
        #expect(facts["blocked"] == ["[]"])
        #expect(facts["variable"]?.sorted() == ["A=1", "B=x y=z", "C="])
    }

    @Test func `a fork finds no variable of another in its memory`() throws {
        let server = server()
        let secret = "what-the-first-fork-alone-may-know"
        let sought = String(secret.reversed())

        var first = try #require(try fork(server, ["SOUGHT": sought, "Z": secret]))
        let found = try #require(first.finish().facts["found"]?.first.flatMap { Int($0) })
        #expect(found > 0)
        var second = try #require(try fork(server, ["SOUGHT": sought]))

        #expect(second.finish().facts["found"] == ["0"])
    }

    @Test func `each fork draws its own random numbers for TLS`() async throws {
        let server = server()
        var drawn: [ArraySlice<UInt8>] = []
        for _ in 0..<2 {
            let listener = try ScriptedServer([.garbage("no TLS here")], readsHTTP: false)
            let url = "https://127.0.0.1:\(listener.port)/"
            var fork = try #require(try fork(server, ["PROBE": "greet", "URL": url]))
            try #require(fork.finish().status == 0, "it was refused for another reason than TLS")
            for await case .bytes(let hello) in listener.events {
                // RFC 8446, section 4.1.2: `random` follows the heads of the record and the message,
                // and a version.
                drawn.append(hello.dropFirst(5 + 4 + 2).prefix(32))
                break
            }
        }

        #expect(drawn.map(\.count) == [32, 32])
        #expect(Set(drawn).count == 2)
    }

    @Test func `a fork that crashes ends alone`() throws {
        let server = server()
        var other = try #require(try fork(server, ["PROBE": "wait"]))
        var crashing = try #require(try fork(server, ["PROBE": "crash"]))

        #expect(crashing.finish().status & 0x7F == SIGABRT)

        #expect(kill(other.process, 0) == 0)
        #expect(other.finish().status == 0)
        var next = try #require(try fork(server))
        #expect(next.finish().status == 0)
    }

    @Test func `after a server that was killed comes another, and its forks go on`() throws {
        let server = server()
        var fork = try #require(try fork(server, ["PROBE": "wait"]))
        let former = try #require(server.process)

        kill(former, SIGKILL)
        wait { server.process == nil }
        var next = try #require(try self.fork(server))

        #expect(server.process != former)
        #expect(next.finish().status == 0)
        #expect(fork.finish().status == 0)
        #expect(!ScriptWorker.hasChild(Int64(former)))
    }

    @Test func `a server that does not answer fails one start, and is asked no more`() throws {
        let server = server(patience: .milliseconds(200))
        var first = try #require(try fork(server))
        _ = first.finish()
        let process = try #require(server.process)
        kill(process, SIGSTOP)

        let started = SuspendingClock.now
        #expect(throws: SystemError.self) { try fork(server) }
        #expect(SuspendingClock.now - started >= .milliseconds(200))

        #expect(try fork(server) == nil)
        #expect(!ScriptWorker.hasChild(Int64(process)))
    }

    @Test func `a server without work ends`() throws {
        let server = server(idle: .milliseconds(100))
        var fork = try #require(try fork(server))
        let process = try #require(server.process)
        _ = fork.finish()

        wait { server.process == nil }

        #expect(!ScriptWorker.hasChild(Int64(process)))
    }

    @Test func `after its time comes another server, and its forks go on`() throws {
        let server = server(longest: .zero)
        var fork = try #require(try fork(server, ["PROBE": "wait"]))
        let former = try #require(server.process)

        var next = try #require(try self.fork(server))

        #expect(server.process != former)
        #expect(next.finish().status == 0)
        #expect(fork.finish().status == 0)
    }

    @Test func `a lock that a fork gets is free once it has ended`() throws {
        let folder = try TemporaryFolder()
        let lock = open("\(folder.path)/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(flock(lock, LOCK_EX) == 0)
        let other = open("\(folder.path)/lock", O_RDWR | O_CLOEXEC)
        defer { close(other) }
        let server = server()
        let pipe = try Pipe(from: ProcessStart.firstFree)
        let orders = try Pipe(from: ProcessStart.firstFree)
        let process = try #require(
            try server.start(
                ["PROBE": "wait"], [orders.readEnd.number, pipe.writeEnd.number, lock]))
        close(lock)

        #expect(flock(other, LOCK_EX | LOCK_NB) != 0)
        _ = consume orders
        waitpid(process, nil, 0)

        #expect(flock(other, LOCK_EX | LOCK_NB) == 0)
    }

    @Test func `a server ends with whoever asked it`() throws {
        var server: ForkServer? = server()
        var fork = try server.flatMap { try self.fork($0) }
        _ = fork?.finish()
        let process = try #require(server?.process)

        server = nil

        #expect(!ScriptWorker.hasChild(Int64(process)))
    }

    @Test(arguments: ["LD_PRELOAD", "LD_AUDIT"])
    func `a program before which a library is loaded is started for each attempt`(
        name: String
    ) throws {
        #expect(try fork(server(), [name: "/none.so"]) == nil)
    }

    @Test func `more variables than a fork takes are left to a program of its own`() throws {
        let server = server()
        var many: [String: String] = [:]
        for number in 0...Int(CLINUX_FORK_VARIABLES) { many["V\(number)"] = "" }

        #expect(try fork(server, many) == nil)
        #expect(try fork(server, ["A": String(repeating: "x", count: 1 << 17)]) == nil)
    }

    @Test(arguments: ["/bin/true", "/none"])
    func `a program that does not become a server is asked once`(program: String) throws {
        let server = server([program])

        #expect(try fork(server) == nil)
        #expect(try fork(server) == nil)

        #expect(server.process == nil)
    }

    /// Waits for a change on another thread, for at most ten seconds.
    private func wait(until isSo: () -> Bool) {
        let start = ContinuousClock.now
        while !isSo(), ContinuousClock.now - start < .seconds(10) { sched_yield() }
        #expect(isSo())
    }
}
