import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// `mcp` through the built program, by the messages of JSON-RPC 2.0 and of the revision 2025-06-18 of
/// the Model Context Protocol. `scripts/test-assistant` asks it with the official SDK.
@Suite("mcp", .timeLimit(.minutes(3)))
struct AssistantProgramTests {
    private func playground(_ section: String) async throws -> Playground {
        try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            jobs:
              - { id: fetch, kind: command, schedule: 1h, options: { command: ["true"] } }
            \(section)

            """
        }
    }

    @Test func `nothing is allowed without a word in the job file`() async throws {
        for section in ["", "mcp: {}", "mcp: { sleep: false }"] {
            let result = try await playground(section).run("mcp")

            #expect(result.status == 78 && result.output == "", "\(section)")
            #expect(
                result.errors.hasPrefix("clarity-jobs: the job file allows an assistant nothing"))
        }
    }

    @Test func `each message gets one answer, and a notification none`() async throws {
        let messages = """
            {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}
            {"jsonrpc":"2.0","method":"notifications/initialized"}
            {"jsonrpc":"2.0","id":2,"method":"tools/list"}
            {"jsonrpc":"2.0","id":"three","method":"tools/call","params":{"name":"why","arguments":{"job":"fetch"}}}
            {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"days","arguments":{"type":"steps"}}}
            {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"why","arguments":{"job":"-x"}}}
            {"jsonrpc":"2.0","id":6,"method":"resources/list"}
            {"id":7}
            {not json

            """

        let result = try await playground("mcp: { jobs: true }").run("mcp", input: messages)

        #expect(result.status == 0 && result.errors == "")
        let answers = try result.outputLines.map { try JSONValue($0) }
        try #require(answers.count == 8)
        #expect(answers.map { $0["id"] }.prefix(3) == [.number(1), .number(2), .string("three")])
        #expect(answers[0]["result"]["protocolVersion"].text == "2024-11-05")
        #expect(
            answers[1]["result"]["tools"].elements.map { $0["name"].text } == ["jobs", "why"])
        let why = try JSONValue(
            try #require(answers[2]["result"]["content"].elements.first?["text"].text))
        #expect(why["job"].text == "fetch" && answers[2]["result"]["isError"] == .bool(false))
        // A tool that is not allowed is not there.
        #expect(answers[3]["error"]["code"].number == -32_602)
        #expect(answers[4]["result"]["isError"] == .bool(true))
        #expect(
            answers.suffix(3).map { $0["error"]["code"].number } == [-32_601, -32_600, -32_700])
    }

    @Test func `a tool is there only if the job file allows what it reads`() async throws {
        let list = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n"
        let rows = [
            ("sleep: true", ["days", "nights", "trends"]), ("workouts: true", ["workouts"]),
            ("activity: true", ["days", "trends"]), ("insights: true", ["insights"]),
        ]

        for (allowed, tools) in rows {
            let result = try await playground("mcp: { \(allowed) }").run("mcp", input: list)
            let answer = try JSONValue(result.output)

            #expect(answer["result"]["tools"].elements.map { $0["name"].text } == tools)
        }
    }

    @Test func `a message without an end is refused`() async throws {
        let endless = String(repeating: "x", count: (1 << 20) + 1)

        let result = try await playground("mcp: { jobs: true }").run("mcp", input: endless)

        #expect(result.status == 64 && result.errors.contains("longer than 1048576 bytes"))
    }
}
