import Glibc
import HTTPServing
import JSON
import Testing

@testable import clarity_jobs_sandbox

/// Runs the built program as a process.
@Suite struct ProgramTests {
    /// A running program, whose standard input stays open as long as this object lives.
    private final class Child {
        let pid: pid_t
        private var input: Int32
        private let output: Int32
        private let errors: Int32

        init(_ arguments: String...) throws {
            // Socket pairs, not pipes: they have close-on-exec set from the start, so no child of
            // another test inherits an end.
            func pipes() -> (read: Int32, write: Int32) {
                var ends: [Int32] = [0, 0]
                socketpair(
                    AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends)
                return (ends[0], ends[1])
            }
            let (input, output, errors) = (pipes(), pipes(), pipes())
            var actions = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&actions)
            defer { posix_spawn_file_actions_destroy(&actions) }
            posix_spawn_file_actions_adddup2(&actions, input.read, 0)
            posix_spawn_file_actions_adddup2(&actions, output.write, 1)
            posix_spawn_file_actions_adddup2(&actions, errors.write, 2)
            // The test program is in the same folder as the program that it tests.
            var link = [CChar](repeating: 0, count: 4096)
            let count = readlink("/proc/self/exe", &link, link.count)
            let own = String(
                decoding: link.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
            let folder = own.split(separator: "/").dropLast().joined(separator: "/")
            let path = "/\(folder)/clarity-jobs-sandbox"
            var words = ([path] + arguments).map { strdup($0) } + [nil]
            defer { for word in words { free(word) } }
            var pid: pid_t = 0
            let code = posix_spawn(&pid, path, &actions, nil, &words, environ)
            guard code == 0 else { throw TemporaryDirectory.Failure(code: code) }
            for end in [input.read, output.write, errors.write] { close(end) }
            self.pid = pid
            (self.input, self.output, self.errors) = (input.write, output.read, errors.read)
        }

        func closeInput() {
            close(input)
            input = -1
        }

        deinit { for end in [input, output, errors] where end >= 0 { close(end) } }

        private func line(_ descriptor: Int32) -> String {
            var bytes: [UInt8] = []
            var byte: UInt8 = 0
            while read(descriptor, &byte, 1) == 1, byte != UInt8(ascii: "\n") { bytes.append(byte) }
            return String(decoding: bytes, as: UTF8.self)
        }

        var outputLine: String { line(output) }
        var errorLine: String { line(errors) }

        /// Returns the exit status, or the negative number of the signal that ended the program.
        func wait() -> Int32 {
            var status: Int32 = 0
            waitpid(pid, &status, 0)
            return status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
        }
    }

    private func port(_ line: String) throws -> UInt16 {
        let start = "clarity-jobs-sandbox listening on http://127.0.0.1:"
        let end = "/api/v1"
        guard line.hasPrefix(start), line.hasSuffix(end),
            let port = UInt16(line.dropFirst(start.count).dropLast(end.count))
        else { throw Bench.Unexpected() }
        return port
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `it says where it listens, answers, and ends by a signal with 0`(
        _ signal: Int32
    ) throws {
        let directory = try TemporaryDirectory()
        let child = try Child("--listen", "127.0.0.1:0", "--data", directory.path)
        let client = try RawClient(port: try port(child.outputLine))

        client.send("GET", "/api/v1/health")
        let answer = client.receiveAnswer()
        kill(child.pid, signal)

        #expect(answer.status == 200)
        #expect(child.wait() == 0)
        #expect(child.outputLine == "")
        #expect(child.errorLine == "")
    }

    @Test func `it ends with its standard input when it is told to`() throws {
        let directory = try TemporaryDirectory()
        let child = try Child(
            "--listen", "127.0.0.1:0", "--data", directory.path, "--exit-with-stdin")
        _ = try port(child.outputLine)

        child.closeInput()

        #expect(child.wait() == 0)
    }

    @Test func `a killed server has kept what it answered`() throws {
        let directory = try TemporaryDirectory()
        let first = try Child("--listen", "127.0.0.1:0", "--data", directory.path)
        let client = try RawClient(port: try port(first.outputLine))
        let credentials: JSON = [
            "email": .string(Seed.email), "password": .string(Seed.password),
        ]
        client.send("POST", "/api/v1/auth/login", credentials.bytes)
        let login = try JSONParser.parse(client.receiveAnswer().body)
        let token = try login["tokens"]?["access_token"].string ?? ""
        let metric = JSON.heartRate(1).with("created_at", "2025-01-01T00:00:00Z")
        let upload = JSON.upload([metric]).with("client_timestamp", "2025-01-01T00:00:00Z")
        client.send(
            "POST", "/api/v1/health-data/upload", upload.bytes,
            headers: ["Authorization: Bearer \(token)"])
        let status = client.receiveAnswer().status

        kill(first.pid, SIGKILL)
        let end = first.wait()
        let second = try Child("--listen", "127.0.0.1:0", "--data", directory.path)
        let again = try RawClient(port: try port(second.outputLine))
        again.send("GET", "/_sandbox/summary")
        let summary = try JSONParser.parse(again.receiveAnswer().body)
        kill(second.pid, SIGTERM)

        #expect(status == 201)
        #expect(end == -SIGKILL)
        #expect(summary["metrics"] == 1)
        #expect(summary["requests"] == 2)
        #expect(second.wait() == 0)
    }

    @Test func `the deployed dialect is served with its quirks`() throws {
        let directory = try TemporaryDirectory()
        let child = try Child(
            "--listen", "127.0.0.1:0", "--data", directory.path, "--dialect", "loop", "--quirks",
            "measured")
        let client = try RawClient(port: try port(child.outputLine))

        client.send("GET", "/health")
        let health = client.receiveAnswer()
        client.send("GET", "/api/v1/auth/me/")
        let redirected = client.receiveAnswer()
        client.send("GET", "/_sandbox/summary")
        let summary = try JSONParser.parse(client.receiveAnswer().body)
        kill(child.pid, SIGTERM)

        #expect(health.status == 200)
        #expect(redirected.status == 307)
        #expect(redirected.head.contains("Location: http://localhost/api/v1/auth/me\r\n"))
        #expect(summary["dialect"] == "loop")
        #expect(try summary["quirks"].elements.count == Quirk.measured.count)
        #expect(child.wait() == 0)
    }

    @Test func `a port in use, a useless directory and a wrong word have their statuses`() throws {
        let directory = try TemporaryDirectory()
        let taken = try Listener(ListenAddress(host: 0x7F00_0001, port: 0))
        let address = "127.0.0.1:\(taken.address.port)"

        let port = try Child("--listen", address, "--data", directory.path)
        let place = try Child("--listen", "127.0.0.1:0", "--data", "/dev/null/sandbox")
        let word = try Child("--data", directory.path, "--dialect", "v2")

        #expect(
            port.errorLine
                == "clarity-jobs-sandbox: cannot listen on \(address): Address already in use")
        #expect(port.wait() == 69)
        #expect(
            place.errorLine
                == "clarity-jobs-sandbox: cannot make `/dev/null/sandbox`: Not a directory")
        #expect(place.wait() == 69)
        #expect(
            word.errorLine
                == "clarity-jobs-sandbox: dialect `v2` is not served; there is `blueprint`, `loop`")
        #expect(word.wait() == 64)
    }

    @Test func `help is on standard output with 0`() throws {
        let child = try Child("--help")

        #expect(child.outputLine == "clarity-jobs-sandbox --data DIR [options]")
        #expect(child.wait() == 0)
    }
}
