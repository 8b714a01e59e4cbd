import ClarityScheduler
import ClarityTestSupport
import Glibc
import Testing

@testable import ClarityHost

/// Tests checks that are URLs; the shipped program probes them over real sockets.
@Suite(.timeLimit(.minutes(5))) struct CheckURLTests {
    private let program = ["\(ChildProgram.folder)/clarity-jobs-worker", "probe"]

    private func check(_ url: String, timeout: Duration = .seconds(30)) -> CheckDeclaration {
        CheckDeclaration(name: "c", question: .url(url), timeout: timeout)
    }

    @Test(
        arguments: [
            (ScriptedAnswer.answer(200), true, "200"), (.answer(204, ""), true, "204"),
            (.answer(503), false, "503"), (.answer(404), false, "404"),
            (.answer(302, headers: ["Location: /elsewhere"]), false, "302"),
            (.reset, false, "connection lost"), (.close, false, "connection lost"),
            (.garbage("SSH-2.0-x\r\n"), false, "no http"),
        ] as [(ScriptedAnswer, Bool, String)])
    func `a url passes with a status of 2xx`(
        answer: ScriptedAnswer, value: Bool, text: String
    ) async throws {
        let bench = try CheckBench()
        let server = try ScriptedServer([answer, .answer(200)])
        let url = "\(server.url)/ready"

        let reading = try await bench.answer(check("\(url)?verbose=1"), urlProgram: program)

        #expect(reading == bench.reading(value, "\(url): \(text)"))
        #expect(server.requests.count <= 1)
    }

    @Test func `a url that says nothing is unknown at its time limit`() async throws {
        let bench = try CheckBench()
        let server = try ScriptedServer([.silence])

        let reading = try await bench.answer(
            check(server.url, timeout: .milliseconds(500)), urlProgram: program)

        #expect(reading == bench.reading(nil, "\(server.url): no answer within 500 ms"))
    }

    @Test func `a url where nobody listens does not pass`() async throws {
        let bench = try CheckBench()
        let url = "http://127.0.0.1:1/"

        let reading = try await bench.answer(check(url), urlProgram: program)

        #expect(reading == bench.reading(false, "\(url): could not connect"))
    }

    @Test func `without a program for it a url is unknown`() async throws {
        let bench = try CheckBench()

        let reading = try await bench.answer(check("http://127.0.0.1:1/"))

        #expect(reading == bench.reading(nil, "http://127.0.0.1:1/: no program to ask it with"))
    }

    @Test(
        arguments: [
            ("yes", nil, "no answer within 500 ms"), ("echo; exit 1", false, "another answer"),
            ("head -c 200 /dev/zero; exit 1", false, "another answer"),
            ("printf '\\033[31mred'; exit 0", true, "answered"),
            ("echo 503 >&2; exit 69", false, "nothing answered"),
            ("(sleep 1000; echo late) & exit 0", true, "answered"),
            ("exit 127", nil, "could not be asked, exit 127"),
        ] as [(String, Bool?, String)])
    func `what a program for urls does is taken for no more than it is`(
        script: String, value: Bool?, text: String
    ) async throws {
        let bench = try CheckBench()
        let timeout: Duration = value == nil && script == "yes" ? .milliseconds(500) : .seconds(30)

        let reading = try await bench.answer(
            check("http://127.0.0.1:1/", timeout: timeout),
            urlProgram: ["/bin/sh", "-c", script])

        #expect(reading == bench.reading(value, "http://127.0.0.1:1/: \(text)"))
    }
}
