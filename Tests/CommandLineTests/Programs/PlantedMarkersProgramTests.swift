import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// Markers that no command may show, whatever a backend answers.
@Suite("What the commands show", .timeLimit(.minutes(5)))
struct PlantedMarkersProgramTests {
    private static let value = "117.31415"
    private static let source = "PLANTED-WATCH"
    private static let text = "PLANTED-WORDS"
    private static let access = "PLANTED-ACCESS"
    private static let refresh = "PLANTED-REFRESH"
    private static let password = "Planted-Passw0rd!"
    private static let email = "planted@example.org"

    private static let markers = [value, source, text, access, refresh, password, email, "\u{1B}["]

    private static let login = """
        {"user": {"user_id": "0b8e6c1e-0000-4000-8000-000000000001", "email": "\(email)"},
         "tokens": {"access_token": "\(access)", "refresh_token": "\(refresh)",
         "token_type": "bearer", "expires_in": 3600}}
        """
    /// The data that was sent, as a careless backend echoes it.
    private static let echo =
        #"{"heart_rate": \#(value), "note": "\#(text) \u001b[31m", "#
        + #""token": "\#(access) \#(refresh)"}"#

    private static var answers: [(String, ScriptedAnswer)] {
        [
            ("400", .answer(400, #"{"detail": "\#(text) \#(value)"}"#)),
            (
                "422",
                .answer(
                    422,
                    #"{"detail": [{"type": "\#(text)", "loc": ["body", "metrics", 0, "\#(text)"], "#
                        + #""msg": "\#(value)", "input": \#(echo)}]}"#)
            ),
            ("409", .answer(409, #"{"error": {"code": "\#(text)", "message": "\#(value)"}}"#)),
            ("413", .answer(413, #"{"error": "\#(text)", "message": "\#(value)"}"#)),
            ("401", .answer(401, #"{"error": "\#(text) \#(refresh)"}"#)),
            ("403", .answer(403, "<html>\(text) \(value)</html>")),
            ("429", .answer(429, echo, headers: ["Retry-After: \(text)"])),
            ("500", .answer(500, "\(text) \(value) \(access)")),
            ("302", .answer(302, "", headers: ["Location: http://127.0.0.1:9/\(text)?\(access)"])),
            ("no JSON", .answer(200, "\(text) \(value)")),
            ("JSON of other types", .answer(200, "[\(echo), \(echo)]")),
            (
                "rejections",
                .answer(
                    201,
                    #"{"processing_id": "p", "status": "received", "#
                        + #""accepted_metrics": 0, "rejected_metrics": 1, "validation_errors": "#
                        + #"[{"field": "metrics[0].is_\#(value)", "message": "\#(text)", "#
                        + #""code": "\#(value)"}], "message": "\#(text)"}"#)
            ),
            ("no HTTP", .garbage("\(text) \(value)\r\n\r\n")),
        ]
    }

    private func playground(_ server: ScriptedServer) async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil) { _, folder in
            let url = "\(server.url)/api/v1"
            let text = Playground.standardJobFile(url: url, folder: folder)
            return text.replacing("  retry_wait", with: "  dialect: blueprint\n  retry_wait")
        }
        let date = "2026-10-01 08:00:00 +0000"
        let export = """
            <?xml version="1.0" encoding="UTF-8"?>
            <HealthData locale="en_GB">
             <Record type="HKQuantityTypeIdentifierHeartRate" sourceName="\(Self.source)" \
            unit="count/min" startDate="\(date)" endDate="\(date)" value="\(Self.value)"/>
            </HealthData>

            """
        try playground.folder.write("export.xml", Array(export.utf8))
        return playground
    }

    private func leaks(_ results: [(String, ProgramResult)], but allowed: [String]) -> [String] {
        results.flatMap { command, result in
            Self.markers.filter { marker in
                !allowed.contains("\(command): \(marker)")
                    && (result.output.contains(marker) || result.errors.contains(marker))
            }.map { "\(command): \($0)" }
        }
    }

    @Test(arguments: answers.indices)
    func `no command shows a planted value`(index: Int) async throws {
        let (name, answer) = Self.answers[index]
        let server = try ScriptedServer(
            [.answer(200, Self.login)] + Array(repeating: answer, count: 400))
        let playground = try await playground(server)
        var results: [(String, ProgramResult)] = []
        func run(_ arguments: String..., input: String = "") async throws {
            let result = try await playground.start(arguments).finish(input: input)
            results.append((arguments.joined(separator: " "), result))
        }

        try await run(
            "auth", "login", "--email", Self.email, "--password-stdin",
            input: "\(Self.password)\n")
        try await run("run", "upload", "-v")
        for job in ["status", "refresh", "insights", "cleanup"] { try await run("run", job, "-v") }
        try await run("dry-run", "upload")
        try await run("history")
        for id in 1...5 {
            try await run("history", "show", "\(id)")
            try await run("history", "show", "\(id)", "--output", "json")
        }
        for job in ["upload", "refresh"] { try await run("explain", job) }
        for form in ["table", "json"] {
            for command in ["list", "next", "audit", "history"] {
                try await run(command, "--output", form)
            }
            try await run("audit", "log", "--output", form)
            try await run("key", "status", "--output", form)
            try await run("auth", "status", "--output", form)
        }
        // Read before the logout, which removes most of it.
        let files = try playground.folder.contents().filter { $0.key.hasPrefix("state/") }
        let found = files.flatMap { path, bytes in
            // Two bytes occur by chance in any encrypted data.
            Self.markers.filter { $0.utf8.count > 2 && bytes.firstRange(of: Array($0.utf8)) != nil }
                .map { "\(path): \($0)" }
        }
        try await run("auth", "logout", "--forget-data", "--yes")

        #expect(results[0].1.status == 0, "\(name): \(results[0].1.errors)")
        #expect(server.requests.count > 2, "\(name)")
        let allowed = results.map(\.0).filter { $0.hasPrefix("auth ") }.map {
            "\($0): \(Self.email)"
        }
        #expect(leaks(results, but: allowed) == [], "\(name)")
        #expect(found == [], "\(name)")
    }
}
