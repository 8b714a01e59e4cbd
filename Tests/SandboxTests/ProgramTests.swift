import Glibc
import HTTPServing
import Platform
import JSON
import Testing

@testable import clarity_jobs_sandbox

/// Runs the built program as a process.
@Suite struct ProgramTests {
    @Test(arguments: [SIGTERM, SIGINT])
    func `the sandbox says where it listens, answers, and ends by a signal`(
        _ signal: Int32
    ) throws {
        let directory = try TemporaryDirectory()
        let child = try SandboxProgram("--listen", "127.0.0.1:0", "--data", directory.path)
        let client = try RawClient(port: try child.port())

        client.send("GET", "/api/v1/health")
        let answer = client.receiveAnswer()
        kill(child.pid, signal)

        #expect(answer.status == 200)
        #expect(child.wait() == 0)
        #expect(child.outputLine == "")
        #expect(child.errorLine == "")
    }

    @Test func `the sandbox ends with its standard input when it is told to`() throws {
        let directory = try TemporaryDirectory()
        let child = try SandboxProgram(
            "--listen", "127.0.0.1:0", "--data", directory.path, "--exit-with-stdin")
        _ = try child.port()

        child.closeInput()

        #expect(child.wait() == 0)
    }

    @Test func `a killed server has kept what it answered`() throws {
        let directory = try TemporaryDirectory()
        let first = try SandboxProgram("--listen", "127.0.0.1:0", "--data", directory.path)
        let client = try RawClient(port: try first.port())
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
        let second = try SandboxProgram("--listen", "127.0.0.1:0", "--data", directory.path)
        let again = try RawClient(port: try second.port())
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
        let child = try SandboxProgram(
            "--listen", "127.0.0.1:0", "--data", directory.path, "--dialect", "loop", "--quirks",
            "measured")
        let client = try RawClient(port: try child.port())

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

        let port = try SandboxProgram("--listen", address, "--data", directory.path)
        let place = try SandboxProgram("--listen", "127.0.0.1:0", "--data", "/dev/null/sandbox")
        let word = try SandboxProgram("--data", directory.path, "--dialect", "v2")

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
        let child = try SandboxProgram("--help")

        #expect(child.outputLine == "clarity-jobs-sandbox --data DIR [options]")
        #expect(child.wait() == 0)
    }
}
