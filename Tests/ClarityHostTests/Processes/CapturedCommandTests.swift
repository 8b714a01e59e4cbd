import CLinux
import ClarityHost
import ClarityTestSupport
import Glibc
import Testing

@Suite("A command that is run for its output")
struct CapturedCommandTests {
    private func run(
        _ script: String, within limit: Duration = .seconds(60), atMost most: Int = 1 << 20
    ) throws(CapturedCommand.Fault) -> CapturedCommand.Result {
        try CapturedCommand.run(
            ["/bin/sh", "-c", script], environment: ["PATH": "/usr/bin:/bin", "A": "given"],
            within: limit, atMost: most)
    }

    @Test func `its output, its errors and its status are returned`() throws {
        let result = try run("read line; echo \"$A$line\"; echo fault >&2; exit 3")

        #expect(result.output == Array("given\n".utf8))
        #expect(result.errors == Array("fault\n".utf8))
        #expect(result.status == 3)
        #expect(try run("kill -TERM $$").status == 143)
    }

    @Test func `an output longer than a pipe comes whole, and errors are cut`() throws {
        let result = try run("head -c 500000 /dev/zero; head -c 100000 /dev/zero >&2")

        #expect(result.output == [UInt8](repeating: 0, count: 500_000))
        #expect(result.errors.count == 16 << 10)
    }

    @Test func `an output of the allowed size comes, and a byte more does not`() throws {
        #expect(try run("head -c 1000 /dev/zero", atMost: 1000).output.count == 1000)
        #expect(throws: CapturedCommand.Fault.tooLarge) {
            try run("head -c 1001 /dev/zero; sleep 1000", atMost: 1000)
        }
    }

    @Test func `a program that takes too long is killed with its children`() throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/child"

        #expect(throws: CapturedCommand.Fault.timedOut) {
            try run("sleep 1000 & echo $! >\(path); wait", within: .milliseconds(500))
        }

        let text = String(decoding: try TemporaryFolder.read(path), as: UTF8.self)
        let child = try #require(pid_t(text.prefix { $0.isNumber }))
        // Its parent is gone, so whoever adopts it may not have reaped it yet.
        let end = clinux_pidfd_open(child)
        defer { close(end) }
        var wait = pollfd(fd: end, events: Int16(POLLIN), revents: 0)
        #expect(end < 0 || poll(&wait, 1, 10_000) == 1)
    }

    @Test func `a process that stays behind does not delay the end`() throws {
        let result = try run("sleep 1000 & echo $!", within: .seconds(60))

        let child = try #require(
            pid_t(String(decoding: result.output, as: UTF8.self).prefix { $0.isNumber }))
        #expect(kill(child, SIGKILL) == 0)
        #expect(result.status == 0)
    }

    @Test func `a program that cannot start is a fault`() {
        #expect(
            throws: CapturedCommand.Fault.refused(
                "cannot start `/none`: No such file or directory")
        ) {
            try CapturedCommand.run(["/none"], environment: [:], within: .seconds(60), atMost: 1)
        }
    }
}
