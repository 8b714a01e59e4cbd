import ClarityTestSupport
import Foundation
@testable import ProgramTestSupport
import Database
import Testing

@Suite("The report of a month", .timeLimit(.minutes(5)))
struct ReportProgramTests {
    private static let clock = ["TZ": "Europe/Zurich"]

    /// Returns a playground without a backend that has read the shipped export.
    private func playground() async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil)
        try playground.useExample("export.zip")
        let path = "\(playground.folder.path)/export.xml"
        let result = try await playground.run("import", path, "-q", environment: Self.clock)
        #expect(result.status == 0, "\(result.errors)")
        return playground
    }

    private func report(_ playground: Playground, _ words: String...) async throws -> ProgramResult
    {
        try await playground.start(["report"] + words, environment: Self.clock).finish()
    }

    /// Reads the document as XML, and writes the exact numbers of each metric day by day, of nights
    /// and of workouts as JSON.
    private static let reading = """
        import json, re, sys
        import xml.etree.ElementTree as tree
        text = open(sys.argv[1], encoding='utf-8').read()
        for word in ('<script', 'http:', 'https:', 'src=', 'href=', '@import', 'url('):
            assert word not in text, word
        root = tree.fromstring(text)
        numbers = lambda row: [float(d.get('value')) for d in row.iter('data')]
        result = {}
        for card in root.iter('div'):
            if card.get('id', '').startswith('metric-'):
                rows = card.find('.//tbody').findall('tr')
                assert card.find('svg') is not None
                result[card.get('id')[7:]] = [numbers(row) for row in rows]
        sections = {s.get('aria-labelledby'): s for s in root.iter('section')}
        result['sections'] = list(sections)
        result['nights'] = len(sections['sleep'].find('.//tbody').findall('tr'))
        result['asleep'] = float(sections['sleep'].find('.//data').get('value'))
        result['workouts'] = [numbers(row)[0]
            for row in sections['workouts'].find('.//tbody').findall('tr')]
        print(json.dumps(result))
        """

    private func exact(_ value: JSONValue) -> Double? {
        switch value {
        case .number(let number): Double(number)
        case .real(let number): number
        default: nil
        }
    }

    private func numbers(of path: String) async throws -> JSONValue {
        let python = try ChildProgram(
            "/usr/bin/python3", ["-c", Self.reading, path],
            environment: ["PATH": "/usr/bin:/bin"])
        let end = await python.finish()
        #expect(end.status == 0, "\(end.errors)")
        return try JSONValue(end.output)
    }

    @Test func `a report has the numbers of the commands, and is one document`() async throws {
        let playground = try await playground()
        let path = "\(playground.folder.path)/report.html"

        let result = try await report(playground, "--month", "2026-10", "--out", path)
        let found = try await numbers(of: path)

        #expect(result.status == 0, "\(result.errors)")
        #expect(
            result.errors
                == "clarity-jobs: the report is not encrypted: give it only to whom it is for\n")
        var seen = 0
        for type in ["heart_rate", "activity", "sleep", "oxygen_saturation"] {
            let json = try JSONValue(
                try await playground.start(
                    [
                        "metrics", type, "--since", "2026-10-01", "--until", "2026-10-31",
                        "--output",
                        "json",
                    ], environment: Self.clock
                ).finish().output)
            #expect(json["since"].text == "2026-10-01" && json["until"].text == "2026-10-31")
            for measure in json["measures"].elements {
                let name = try #require(measure["measure"].text)
                if name == "total_sleep_minutes" {
                    let totals = measure["days"].elements.compactMap { exact($0["total"]) }
                    let mean = totals.reduce(0, +) / Double(totals.count)
                    #expect(abs((exact(found["asleep"]) ?? 0) - mean) < 0.001)
                }
                let days = measure["days"].elements.map { day in
                    ["min", "mean", "max", "total"].compactMap { exact(day[$0]) }
                }
                seen += days.count
                #expect(
                    found[name].elements.map { $0.elements.compactMap(exact) } == days, "\(name)")
            }
        }
        #expect(seen > 100)
        let records = try JSONValue(
            try await playground.start(
                [
                    "records", "Workout", "--by", "raw", "--since", "2026-10-01", "--until",
                    "2026-10-31", "--output", "json",
                ], environment: Self.clock
            ).finish().output)
        #expect(found["workouts"].elements.count == records["rows"].elements.count)
        #expect(!found["workouts"].elements.isEmpty)
        #expect((found["nights"].number ?? 0) > 20)
    }

    @Test func `only the owner can read it, nothing is overwritten, and the audit log has it`()
        async throws
    {
        let playground = try await playground()
        let path = "\(playground.folder.path)/report.html"

        let first = try await report(playground, "--month", "2026-10", "--out", path)
        let again = try await report(playground, "--month", "2026-10", "--out", path)
        let output = try await report(playground, "--month", "2026-10", "--out", "-")
        let log = try await playground.run("audit", "log")

        #expect(first.output.hasPrefix("October 2026, 29 days with data, in \(path)\n"))
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(again.isRefusal(78, "clarity-jobs: `\(path)` is there already; name another file"))
        #expect(output.output.hasPrefix("<!DOCTYPE html>\n<html") && output.status == 0)
        #expect(output.output.hasSuffix("</html>\n"))
        #expect(log.output.matches(of: /exported .*\(as html: report of 2026-10\)/).count == 2)
    }

    @Test func `a month that has no report is answered in one line`() async throws {
        let playground = try await playground()
        func refusal(_ month: String) async throws -> ProgramResult {
            try await report(
                playground, "--month", month, "--out", "-", "--now", "2026-11-12T10:00:00Z")
        }

        let future = try await refusal("2026-12")
        let early = try await refusal("2001-01")
        let wrong = try await refusal("October")
        let nowhere = try await report(playground, "--month", "2026-10")

        #expect(future.isRefusal(64, "clarity-jobs: `2026-12` has not begun yet"))
        #expect(early.status == 66 && early.output.isEmpty)
        #expect(
            early.errors.hasPrefix("clarity-jobs: no data is kept of `2001-01`; the first month is")
        )
        #expect(
            wrong.isRefusal(64, "clarity-jobs: --month is a month such as `2026-10`, got `October`")
        )
        #expect(
            nowhere.isRefusal(
                64,
                "clarity-jobs: `report` wants a place for the page: --out FILE; `-` is standard "
                    + "output"))
    }

    @Test func `without a state there is nothing to report`() async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await report(playground, "--out", "\(playground.folder.path)/a.html")

        #expect(
            result.isRefusal(
                66, "clarity-jobs: no health data is kept yet; run `clarity-jobs import FILE`"))
    }

    @Test func `the last whole month is the default, by the clocks of the account`() async throws {
        let playground = try await playground()
        func month(at now: String) async throws -> String? {
            let result = try await report(playground, "--out", "-", "--now", now)
            return result.output.firstMatch(of: /<h1>Health in ([^<]*)<\/h1>/).map {
                String($0.output.1)
            }
        }

        // Half an hour before and after the 1st of December begins in Zurich.
        #expect(try await month(at: "2026-11-30T22:30:00Z") == "October 2026")
        #expect(try await month(at: "2026-11-30T23:30:00Z") == "November 2026")
    }

    @Test func `a month that goes on is reported up to today`() async throws {
        let playground = try await playground()

        let result = try await report(
            playground, "--month", "2026-10", "--out", "-", "--now", "2026-10-10T12:00:00Z")

        #expect(result.output.contains("<dt>Not over yet</dt><dd>up to Sat 10 Oct</dd>"))
        #expect(result.output.contains("<dd>8 of 10</dd>"))
        #expect(!result.output.contains(">Sun 11 Oct<"))
    }

    @Test func `hostile names from elsewhere are only text`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let dates = "startDate='2026-10-02 08:00:00 +0100' endDate='2026-10-02 09:00:00 +0100'"
        let path = "\(playground.folder.path)/more.xml"
        try playground.folder.write(
            "more.xml",
            Array(
                """
                <HealthData><ExportDate value='2026-11-01 08:00:00 +0100'/>
                <Workout workoutActivityType='&lt;script&gt;x&lt;/script&gt;' sourceName='s'
                  \(dates) duration='60' durationUnit='min'>
                  <WorkoutStatistics type='HKQuantityTypeIdentifierActiveEnergyBurned' \(dates)
                    sum='100' unit='&lt;b&gt;"&amp;'/>
                </Workout></HealthData>
                """.utf8))
        _ = try await playground.run("import", path, "-q", environment: Self.clock)

        let result = try await report(playground, "--month", "2026-10", "--out", "-")

        #expect(result.status == 0, "\(result.errors)")
        #expect(!result.output.contains("<script") && !result.output.contains("<b>"))
        #expect(result.output.contains("&lt;script&gt;x&lt;/script&gt;"))
        #expect(result.output.contains("&lt;b&gt;&quot;&amp;"))
    }

    @Test func `damaged records are left out, and the report and its end say so`() async throws {
        let playground = try await playground()
        try FileConnection(path: "\(playground.statePath)/health.db", access: .readWrite).execute(
            """
            UPDATE segments SET sealed = CAST(x'00' || substr(sealed, 2) AS BLOB)
            WHERE type LIKE '%SleepAnalysis'
            """)

        let result = try await report(playground, "--month", "2026-10", "--out", "-")

        #expect(result.status == 1 && result.errors.contains("damaged and left out"))
        #expect(result.output.contains("damaged and left out") && result.output.contains("</html>"))
    }
}
