import ClarityTestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ProbeProgramTests {
    @Test(
        arguments: [
            (ScriptedAnswer.answer(204, ""), 0, "204\n"), (.answer(302), 1, "302\n"),
            (.answer(500), 1, "500\n"), (.close, 69, "connection lost\n"),
            (.garbage("x\r\n"), 69, "no http\n"),
        ] as [(ScriptedAnswer, Int32, String)])
    func `the exit status tells whether a url answers, and one line how`(
        answer: ScriptedAnswer, status: Int32, output: String
    ) async throws {
        let server = try ScriptedServer([answer])

        let end = try await blocking { try WorkerProcess(["probe", server.url]).end() }

        #expect(end.status == status)
        #expect(end.output == output)
        #expect(end.errors == "" && end.reports == [])
    }

    @Test(arguments: [["probe"], ["probe", "ftp://127.0.0.1"], ["probe", "http://a", "http://b"]])
    func `a url that cannot be asked is a fault of usage`(arguments: [String]) async throws {
        let end = try await blocking { try WorkerProcess(arguments).end() }

        #expect(end.status == 64)
        #expect(end.output == "")
        #expect(end.errors.contains("usage: clarity-jobs-worker attempt\n"))
        #expect(end.errors.contains("       clarity-jobs-worker probe URL\n"))
    }

    @Test func `another machine is asked through the environment's proxy`() async throws {
        let proxy = try ScriptedServer([.answer(200, "")])

        let end = try await blocking {
            try WorkerProcess(
                ["probe", "http://clarity.invalid/ok"], environment: ["http_proxy=\(proxy.url)"]
            ).end()
        }

        #expect(end.status == 0)
        #expect(proxy.requests.map(\.target) == ["http://clarity.invalid/ok"])
    }

    @Test func `this machine is asked without a proxy`() async throws {
        let proxy = try ScriptedServer([.answer(500)])
        let server = try ScriptedServer([.answer(200, "")])

        let end = try await blocking {
            try WorkerProcess(
                ["probe", server.url],
                environment: ["http_proxy=\(proxy.url)", "all_proxy=\(proxy.url)"]
            ).end()
        }

        #expect(end.status == 0)
        #expect(proxy.connections == 0)
    }
}
