import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

@Suite("Reading what a server sent", .timeLimit(.minutes(5)))
struct ServerTextProgramTests {
    private func read(
        _ playground: Playground, _ arguments: String...
    ) async throws -> ProgramResult {
        try await playground.start(arguments, environment: ["TZ": "UTC"]).finish()
    }

    private static let login = """
        {"user":{"user_id":"0b8e6c1e-0000-4000-8000-000000000001","email":"ada@example.org"},
         "tokens":{"access_token":"a","refresh_token":"r","token_type":"bearer","expires_in":3600}}
        """

    private static func insights(_ narrative: String) -> ScriptedAnswer {
        .answer(
            200,
            #"{"success":true,"data":{"insights":[{"id":"i-1","narrative":"\#(narrative)","#
                + #""generated_at":"2026-01-01T00:00:00Z"}],"has_more":false}}"#)
    }

    private static func page(_ value: Int, _ hour: Int) -> ScriptedAnswer {
        .answer(
            200,
            #"{"data":[{"id":"m-1","type":"heart_rate","value":\#(value),"#
                + #""timestamp":"2026-01-01T0\#(hour):00:00Z"}],"pagination":{"has_next":false}}"#)
    }

    private static let profile = ScriptedAnswer.answer(
        200, #"{"user_id":"0b8e6c1e-0000-4000-8000-000000000001","role":"\u001b]0;x\u0007"}"#)

    /// Returns a playground whose backend gave one value at the first refresh and another at the
    /// second.
    private func edited() async throws -> (playground: Playground, server: ScriptedServer) {
        let odd = #"one \u001b[31mtwo\u202e three\nfour \u9b62\u0007"#
        let server = try ScriptedServer([
            .answer(200, Self.login), Self.profile, Self.insights(odd), Self.page(61, 1),
            Self.profile, Self.insights(odd), Self.page(62, 2),
        ])
        let playground = try await Playground(sandboxOptions: nil) { _, folder in
            Playground.standardJobFile(url: "\(server.url)/api/v1", folder: folder)
                .replacing("  retry_wait", with: "  dialect: blueprint\n  retry_wait")
        }
        try await playground.logIn()
        for _ in 1...2 {
            let result = try await playground.run("run", "refresh")
            #expect(result.status == 0, "\(result.errors)")
        }
        return (playground, server)
    }

    @Test func `an archived version is listed and shown`() async throws {
        let (playground, server) = try await edited()
        defer { withExtendedLifetime(server) {} }

        let list = try await read(playground, "archive", "list")
        let none = try await read(playground, "archive", "list", "--type", "sleep_analysis")
        let late = try await playground.json("archive", "list", "--since", "1d")
        let shown = try await playground.json("archive", "show", "1")
        let missing = try await read(playground, "archive", "show", "9")

        #expect(list.status == 0 && list.outputLines.count == 2)
        #expect(list.outputLines[0].hasPrefix("NUMBER  TABLE    TYPE"))
        #expect(
            list.outputLines[1].hasPrefix(
                "     1  metrics  heart_rate  m-1  2026-01-01T01:00:00Z  "))
        // Compared as a word, because the time of archiving may have these digits too.
        #expect(!list.output.split(whereSeparator: { " \n".contains($0) }).contains("61"))
        #expect(none.outputLines == ["no version is archived"])
        #expect(late.elements.count == 1)
        #expect(shown["content"]["value"] == .number(61))
        #expect(shown["version_of"] == .string("2026-01-01T01:00:00Z"))
        #expect(missing.isRefusal(66, "clarity-jobs: no archived version `9`"))
    }

    @Test func `text that controls a terminal is never shown raw`() async throws {
        let (playground, server) = try await edited()
        defer { withExtendedLifetime(server) {} }

        for words in [["insights"], ["insights", "i-1"], ["profile"], ["summary"]] {
            for form in ["table", "json", "ndjson"] {
                let result = try await playground.start(words + ["-o", form]).finish()
                #expect(result.status == 0)
                let raw = result.output.unicodeScalars.filter {
                    $0.properties.generalCategory == .control && $0 != "\n"
                        || $0.value == 0x202E && form == "table"
                }
                #expect(raw.isEmpty, "\(words) \(form)")
            }
        }
        let text = try await read(playground, "insights", "i-1")
        #expect(text.outputLines.contains("one \u{FFFD}[31mtwo\u{FFFD} three"))
        #expect(text.outputLines.contains("four 魢\u{FFFD}"))
    }
}
