import ClarityTestSupport
import Foundation
@testable import ProgramTestSupport
import Testing
import WebAPI

/// The scores of depression and mania in an analysis, which no command but `analyses` shows.
@Suite("Scores of an illness", .timeLimit(.minutes(5)))
struct ScoreProgramTests {
    /// The stand-in's scores, in whole and rounded, its word for an alert, and the names of all
    /// three.
    private static let marks = [
        "86421357", "0.8642", "0.864", "97538642", "0.9754", "0.975", "heightened",
        "depression_risk", "mania_risk", "mania_alert", "depression risk", "mania",
    ]

    /// Returns the marks that a text has, whatever the case. The fraction of a second may look like
    /// one.
    private func marks(in text: String) -> [String] {
        let text = text.replacing(/\d\d:\d\d:\d\d\.\d+/, with: "").lowercased()
        return Self.marks.filter { text.contains($0) }
    }

    private func playground() async throws -> Playground {
        let playground = try await Playground(
            sandboxOptions: ["--dialect", "loop", "--quirks", "measured"]
        ) { url, folder in
            Playground.standardJobFile(url: url, folder: folder).replacing(
                "jobs:\n",
                with: "notify: [{ kind: command, command: [/bin/sh, -c, 'cat >> \(folder)/told; "
                    + "env >> \(folder)/told'] }]\njobs:\n") + """
                      - { id: analysis, kind: pat-analysis, schedule: { every: 1d } }
                      - { id: insight, kind: insight-generate, schedule: { every: 1d } }
                      - id: broken
                        kind: command
                        retry: { attempts: 1 }
                        options: { command: [/bin/false] }
                      - id: records
                        kind: export-data
                        schedule: { every: 1d }
                        options: { folder: \(folder)/job-export }

                    """
        }
        try playground.writeSteps(days: 7)
        try await playground.logIn()
        return playground
    }

    @Test func `no output, log, notice, page or export but of analyses has a score`()
        async throws
    {
        let playground = try await playground()
        var shown: [(command: String, text: String)] = []
        func run(_ words: [String], _ mayFail: Bool = false) async throws {
            let result = try await playground.start(words).finish()
            let command = words.joined(separator: " ")
            #expect(mayFail || result.status == 0, "\(command): \(result.errors)")
            shown.append((command, result.output + result.errors))
        }

        for job in ["upload", "analysis", "insight", "status", "refresh", "insights", "records"] {
            try await run(["run", job, "--force", "-v"])
        }
        try await run(["run", "broken", "--force", "-v"], true)
        try await run(["run", "notify", "-v"])
        let analyses = try await playground.run("analyses", "1", "-o", "json")
        try await showEverything(playground, run)
        for format in ["csv", "fhir", "sqlite"] {
            let folder = "\(playground.folder.path)/\(format)"
            try await run(["export-data", "--out", folder, "--format", format])
        }
        try await run(["report", "--out", "-", "--month", "2026-10"])
        try await run(["run", "cleanup", "--force", "-v"])
        let files = try playground.folder.contents().filter { !$0.key.hasPrefix("sandbox/") }

        // The numbers did arrive, and the search finds them.
        #expect(
            Set(marks(in: analyses.output)).isSuperset(of: [
                "86421357", "97538642", "heightened", "depression_risk", "mania_risk",
                "mania_alert",
            ]), "\(analyses.output)")
        #expect(
            files["told"].map { String(decoding: $0, as: UTF8.self) }?.contains("broken") == true)
        #expect(files.keys.contains { $0.hasPrefix("fhir/") })
        #expect(files.keys.contains { $0.hasPrefix("job-export/") })
        #expect(shown.count > 40)
        for (command, text) in shown { #expect(marks(in: text) == [], "\(command)") }
        for (path, bytes) in files {
            let text = String(decoding: bytes, as: UTF8.self)
            // Encrypted bytes have short marks by chance.
            let found = Self.marks.filter { $0.utf8.count > 6 && text.contains($0) }
            #expect(found == [], "\(path)")
        }
    }

    /// Runs every command that the web pages show, and others that read.
    private func showEverything(
        _ playground: Playground, _ run: ([String], Bool) async throws -> Void
    ) async throws {
        let insight = try await playground.json("insights").elements.first?["id"].text ?? ""
        let variables = [
            "explain": ["insight"], "runs/{id}": (1...9).map { "\($0)" },
            "metrics/{type}": ["steps"],
            "insights/{id}": [insight], "outbox/{id}": ["1"],
            "ecgs/{start}": ["2026-10-01T10:00:00Z"],
        ]
        for route in APIRoute.all
        where !route.path.hasPrefix("analyses") && route.path != "accounts" {
            let isOpen = route.parameters.allSatisfy { !$0.isRequired }
            let values = try #require(isOpen ? [""] : variables[route.path], "\(route.path)")
            for value in values {
                let operands = value.isEmpty ? [] : [value]
                // Each page has its data from this command.
                try await run(route.command + operands + ["--output", "json"], true)
                try await run(route.command + operands, true)
            }
        }
        try await run(["audit"], false)
        try await run(["audit", "log", "-o", "ndjson"], false)
        try await run(["auth", "status"], false)
        try await run(["records", "StepCount", "--by", "raw"], false)
        try await run(["dry-run", "insight"], true)
        try await run(["archive"], true)
        let exporter = try playground.start(["exporter", "--listen", "127.0.0.1:0"])
        let ready = try #require(await exporter.readErrorLine())
        let start = try #require(ready.firstRange(of: "http://127.0.0.1:")).upperBound
        let port = try #require(UInt16(ready[start...].prefix { $0.isNumber }))
        let metrics = try await LoopbackRequest.send("GET", "/metrics", port: port)
        #expect(metrics.contains("clarity_jobs") && marks(in: metrics) == [], "\(metrics)")
        kill(exporter.processID, SIGTERM)
        _ = await exporter.finish()
    }
}
