import ClarityTestSupport
@testable import ProgramTestSupport
import Database
import Testing

/// A week of steps from the export to its insight, with the built programs and the sandbox.
@Suite("Analyses and insights", .timeLimit(.minutes(5)))
struct AnalysisProgramTests {
    /// Returns the standard jobs and the two kinds. No job starts another one unless `chain` says
    /// so.
    private static func jobFile(_ url: String, _ folder: String, chain: Bool = false) -> String {
        Playground.standardJobFile(url: url, folder: folder)
            .replacing("then: [status]", with: "then: []") + """
                  - { id: analysis, kind: pat-analysis, schedule: { every: 1d } }
                  - id: insight
                    kind: insight-generate
                    schedule: { every: 1d }
                    on: [\(chain ? "analysis-completed" : "")]

                """
    }

    /// Returns a playground whose week of steps is imported and whose user is logged in.
    private func playground(
        _ options: String..., chain: Bool = false
    ) async throws -> Playground {
        let playground = try await Playground(sandboxOptions: options) {
            Self.jobFile($0, $1, chain: chain)
        }
        try playground.writeSteps(days: 7)
        try await playground.logIn()
        let upload = try await playground.run("run", "upload")
        #expect(upload.status == 0, "\(upload.errors)")
        return playground
    }

    private static let loop = ["--dialect", "loop", "--quirks", "measured"]

    @Test func `with the blueprint, a week is analysed and becomes an insight`()
        async throws
    {
        let playground = try await playground("--processing-steps", "2", chain: true)

        let analysis = try await playground.run("run", "analysis")
        let second = try await playground.run("run", "analysis")

        #expect(analysis.status == 0, "\(analysis.errors)")
        #expect(
            try playground.rows("SELECT state, known_minutes, sends FROM analyses") == [
                "completed 10080 1"
            ])
        #expect(second.status == 0)
        #expect(
            second.errors.contains(
                "the week to 2026-10-07 is not analysed: it was analysed already, and no more of "
                    + "it is known now"), "\(second.errors)")
        // The job that listens for the analysis starts with the next due jobs.
        let told = try #require(try await playground.history("insight").first)
        let due = try await playground.run("run", "--due")
        let insight = try #require(try await playground.history("insight").first)
        #expect(told.state == "enqueued" && told.run == insight.run)
        #expect(due.status == 0, "\(due.errors)")
        #expect(insight.state == "succeeded", "\(insight)")
        #expect(
            try playground.rows("SELECT state, sends FROM insight_requests") == ["completed 1"])
        #expect(
            try playground.rows(
                """
                SELECT count(*) FROM insight_requests JOIN insights ON insight_id = insights.id
                WHERE type = 'insight_full'
                """) == ["1"])

        let history = try await playground.run("run", "insights")

        #expect(history.status == 0, "\(history.errors)")
        // The sandbox's own 23 in full, and the new one.
        #expect(
            try playground.rows("SELECT type, count(*) FROM insights GROUP BY type") == [
                "insight_full 24"
            ])
        #expect(try playground.rows("SELECT count(*) FROM archive") == ["0"])
    }

    @Test(arguments: [["--processing-steps", "1"], AnalysisProgramTests.loop])
    func `what an analysis found is shown, and the audit log has who read it`(options: [String])
        async throws
    {
        let playground = try await Playground(sandboxOptions: options) { Self.jobFile($0, $1) }
        try playground.writeSteps(days: 7)
        try await playground.logIn()
        for job in ["upload", "analysis", "insight"] {
            let run = try await playground.run("run", job)
            #expect(run.status == 0, "\(run.errors)")
        }
        let insight = try playground.rows("SELECT insight_id FROM insight_requests")

        let list = try await playground.run("analyses")
        let one = try await playground.run("analyses", "1")
        let json = try await playground.json("analyses", "1")
        let csv = try await playground.run("analyses", "-o", "csv")
        let before = try await playground.json("analyses", "--until", "2026-10-06")
        let after = try await playground.json("analyses", "--since", "2026-10-08")
        let on = try await playground.json(
            "analyses", "--since", "2026-10-07", "--until", "2026-10-07")
        let missing = try await playground.run("analyses", "2")

        let isLoop = options == Self.loop
        let name = isLoop ? "sleep_efficiency" : "relative_amplitude"
        let answered = json["answer"][isLoop ? "analysis" : "pat_features"][name]
        #expect(answered != .null && json["numbers"][name] == answered, "\(json)")
        #expect(json["first_day"] == .string("2026-10-01"))
        #expect(json["last_day"] == .string("2026-10-07"))
        #expect(json["state"] == .string("completed") && json["known_minutes"].number == 10080)
        #expect([json["insight"].text] == insight.map(Optional.some))
        #expect(json["embedding"].elements.count > 0)
        #expect(list.outputLines.count == 2, "\(list.output)")
        let line = try #require(list.outputLines.last)
        #expect(line.hasPrefix("     1  2026-10-07  completed  100 %  "), "\(line)")
        #expect(line.contains(isLoop ? "activity_fragmentation " : "intradaily_variability "))
        #expect(one.outputLines.first == "analysis 1, 2026-10-01 to 2026-10-07")
        #expect(one.outputLines.contains { $0.hasPrefix("state: completed ") })
        #expect(one.outputLines.contains { $0.hasPrefix("\(name) ") })
        #expect(
            csv.output.contains("\r\n1,2026-10-01,2026-10-07,completed,10080,\(name),"),
            "\(csv.output)")
        #expect(before.elements.isEmpty && after.elements.isEmpty && on.elements.count == 1)
        #expect(missing.isRefusal(66, "clarity-jobs: no analysis `2`"), "\(missing)")
        let log = try await playground.run("audit", "log", "-o", "ndjson")
        for detail in ["shown: analyses", "as json: analyses", "as csv: analyses"] {
            #expect(log.output.contains(detail), "\(detail)")
        }
    }

    @Test func `the deployed backend returns the result at once, and its insight later`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: Self.loop) { Self.jobFile($0, $1) }
        try playground.writeSteps(days: 7)
        try await playground.logIn()
        _ = try await playground.run("run", "upload")

        let analysis = try await playground.run("run", "analysis")
        let insight = try await playground.run("run", "insight")
        let made = try playground.rows("SELECT id, type FROM insights")
        let history = try await playground.run("run", "insights")

        #expect(analysis.status == 0, "\(analysis.errors)")
        #expect(
            try playground.rows("SELECT state, asked_count FROM analyses") == ["completed 0"])
        #expect(insight.status == 0, "\(insight.errors)")
        #expect(made == ["unnamed-1 insight_full"])
        #expect(history.status == 0, "\(history.errors)")
        let full = try playground.rows("SELECT id FROM insights WHERE type = 'insight_full'")
        #expect(full.count == 1 && full[0].hasPrefix("insight_"), "\(full)")
        #expect(try playground.rows("SELECT insight_id FROM insight_requests") == full)
        #expect(try playground.rows("SELECT count(*) FROM insights") == ["24"])
        #expect(try playground.rows("SELECT count(*) FROM missing_texts") == ["0"])
    }

    @Test(arguments: [[], AnalysisProgramTests.loop])
    func `an insight whose answer was lost is found, not requested twice`(options: [String])
        async throws
    {
        let playground = try await Playground(
            sandboxOptions: options + ["--processing-steps", "1"]
        ) { Self.jobFile($0, $1) }
        let sandbox = try #require(playground.sandbox)
        try playground.writeSteps(days: 7)
        try await playground.logIn()
        _ = try await playground.run("run", "upload")
        _ = try await playground.run("run", "analysis")
        let path = options.isEmpty ? "/insights/generate" : "/insights"
        try await sandbox.addFault("POST \(path): drop")

        let first = try await playground.run("run", "insight")
        let doubt = try playground.rows("SELECT state, sends FROM insight_requests")
        let second = try await playground.run("run", "insight", "--force")

        #expect(first.status == 75, "\(first.errors)")
        #expect(doubt == ["sending 1"])
        #expect(second.status == 0, "\(second.errors)")
        #expect(
            try playground.rows("SELECT state, sends FROM insight_requests") == ["completed 1"])
        _ = try await playground.run("run", "insights")
        #expect(try playground.rows("SELECT count(*) FROM insights") == ["24"])
    }

    @Test func `without the backend, an insight is queued and requested later`() async throws {
        let playground = try await playground("--processing-steps", "1")
        let sandbox = try #require(playground.sandbox)
        _ = try await playground.run("run", "analysis")
        let text = Self.jobFile(sandbox.url, playground.folder.path)
        try playground.folder.write(
            "jobs.yaml",
            Array(text.replacing(sandbox.url, with: "http://127.0.0.1:9/api/v1").utf8))

        let offline = try await playground.run("run", "insight")
        let queued = try playground.rows("SELECT state, sends FROM insight_requests")
        try playground.folder.write("jobs.yaml", Array(text.utf8))
        let online = try await playground.run("run", "insight", "--force")

        #expect(offline.status != 0)
        #expect(queued == ["queued 0"])
        #expect(online.status == 0, "\(online.errors)")
        #expect(try playground.rows("SELECT state FROM insight_requests") == ["completed"])
    }

    @Test func `a week with too little data is skipped with the reason`() async throws {
        let playground = try await Playground { Self.jobFile($0, $1) }
        try playground.writeSteps(days: 3)
        try await playground.logIn()
        _ = try await playground.run("run", "upload")

        let analysis = try await playground.run("run", "analysis")
        let insight = try await playground.run("run", "insight")

        #expect(analysis.status == 0 && insight.status == 0)
        #expect(
            analysis.errors.contains(
                "the week to 2026-10-07 is not analysed: 4320 of its minutes are known, 7200 are "
                    + "needed"), "\(analysis.errors)")
        #expect(
            insight.errors.contains("no insight is asked for: no analysis is complete yet"),
            "\(insight.errors)")
        let counts = try await playground.lastRun(of: "analysis")["counts"]
        #expect(counts["weeks_skipped"] == .number(1))
    }

    @Test func `an analysis that the backend loses becomes unconfirmed after its time`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: ["--processing-steps", "1000"]) {
            Self.jobFile($0, $1).replacing(
                "kind: processing-status, schedule: { every: 15m }",
                with: "kind: processing-status, schedule: { every: 15m }, "
                    + "options: { give_up_after: 1s }, timeout: 20s"
            ).replacing(
                "kind: pat-analysis, schedule: { every: 1d }",
                with: "kind: pat-analysis, schedule: { every: 1d }, timeout: 15s")
        }
        try playground.writeSteps(days: 7)
        try await playground.logIn()
        _ = try await playground.run("run", "upload")

        let analysis = try await playground.run("run", "analysis")
        let open = try playground.rows("SELECT state FROM analyses")
        let status = try await playground.run("run", "status")

        #expect(analysis.status == 0, "\(analysis.errors)")
        #expect(open == ["accepted"])
        #expect(status.status == 0, "\(status.errors)")
        #expect(try playground.rows("SELECT state FROM analyses") == ["unconfirmed"])
        #expect(
            status.errors.contains("unconfirmed: the backend did not finish it within 1s (asked "),
            "\(status.errors)")
        #expect(
            try playground.rows(
                "SELECT count(*) FROM batches WHERE asked_count > 0 AND last_word LIKE 'processing%'"
            ) != ["0"])
    }

    @Test(arguments: [[], AnalysisProgramTests.loop])
    func `each dry run shows its exact requests and changes nothing`(options: [String])
        async throws
    {
        let playground = try await Playground(
            sandboxOptions: options + ["--processing-steps", "1"]
        ) { Self.jobFile($0, $1) }
        let sandbox = try #require(playground.sandbox)
        try playground.writeSteps(days: 7)
        try await playground.logIn()
        _ = try await playground.run("run", "upload")
        let requests = try await sandbox.count("requests")
        let before = try playground.folder.contents()

        let analysis = try await playground.run("dry-run", "analysis")
        let early = try await playground.run("dry-run", "insight")

        #expect(try playground.folder.contents() == before)
        #expect(try await sandbox.count("requests") == requests)
        let paths =
            options.isEmpty
            ? ["/pat/analyze-step-data", "/insights/generate"]
            : ["/pat/analysis", "/insights"]
        #expect(analysis.outputLines.first == "POST \(sandbox.url)\(paths[0])")
        #expect(analysis.outputLines.count { $0.hasPrefix("  body: ") } == 1)
        #expect(
            analysis.outputLines.suffix(3) == [
                "  -> taken as begun: its result would be asked for, and kept",
                "would be: 1 week sent, 10080 minutes sent",
                "dry run of `analysis`: 1 request shown, nothing was sent, nothing was changed",
            ])
        #expect(
            early.outputLines == [
                "no insight is asked for: no analysis is complete yet",
                "would be: 1 insight skipped",
                "dry run of `insight`: 0 requests shown, nothing was sent, nothing was changed",
            ])

        _ = try await playground.run("run", "analysis")
        let then = try playground.folder.contents()
        let insight = try await playground.run("dry-run", "insight")
        #expect(try playground.folder.contents() == then)
        #expect(insight.outputLines.first == "POST \(sandbox.url)\(paths[1])")
        #expect(
            insight.outputLines.suffix(3) == [
                "  -> taken as made: the insight would be kept with its recommendations",
                "would be: 1 insight generated, 1 insight queued",
                "dry run of `insight`: 1 request shown, nothing was sent, nothing was changed",
            ])
    }
}

extension Playground {
    /// Writes an export whose last whole day is 2026-10-07, with steps on that day and the days
    /// before.
    func writeSteps(days: Int) throws {
        var text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE HealthData [
            ]>
            <HealthData locale="en_GB">
             <ExportDate value="2026-10-08 09:00:00 +0000"/>

            """
        for day in (8 - days)...8 {
            for hour in 7..<(day == 8 ? 9 : 22) {
                let time = "2026-10-0\(day) \(hour < 10 ? "0" : "")\(hour)"
                text += """
                     <Record type="HKQuantityTypeIdentifierStepCount" sourceName="Watch" \
                    unit="count" startDate="\(time):00:00 +0000" endDate="\(time):40:00 +0000" \
                    value="\(400 + 40 * hour)"/>

                    """
            }
        }
        try folder.write("export.xml", Array("\(text)</HealthData>\n".utf8))
    }

    /// Returns the rows of a query on the encrypted store, with a space between columns.
    fileprivate func rows(_ sql: String) throws -> [String] {
        let columns = sql.firstRange(of: "FROM").map { String(sql[..<$0.lowerBound]) } ?? ""
        let count = Int32(columns.split(separator: ",").count)
        return try FileConnection(path: "\(statePath)/health.db").all(sql) { row in
            (0..<count).map { row.text($0) }.joined(separator: " ")
        }
    }
}
