import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Database
import Testing

@Suite("import", .timeLimit(.minutes(5)))
struct ImportProgramTests {
    /// Two samples, and an invalid one between them.
    private static let samples = """
        {"kind":"heart_rate","start":"2026-01-02T03:04:05Z","value":61,"source":"Band of Eve"}
        {"kind":"heart_rate","start":"2026-01-02T03:05:05Z","value":"61"}
        {"kind":"heart_rate","start":"2026-01-02T03:06:05Z","value":62}

        """

    private func playground() async throws -> Playground {
        try await Playground(sandboxOptions: nil)
    }

    @Test func `an export is read into the outbox once`() async throws {
        let playground = try await playground()
        try playground.writeExport(heartRates: 3)
        let path = "\(playground.folder.path)/export.xml"

        let first = try await playground.run("import", path)
        let again = try await playground.run("import", path, "--quiet")

        #expect(first.status == 0)
        #expect(first.output == "`export.xml`: 3 records read: 3 queued\n", "\(first.errors)")
        #expect(first.errorLines.last?.hasPrefix("`export.xml`: 100 % read") == true)
        // Even if the file has only just been written.
        #expect(
            again.output.hasPrefix("`export.xml`: unchanged since it was read at ")
                && again.errors == "")
        #expect(try playground.outbox() == ["queued": 3])
    }

    @Test func `a file that was read completely is not read again`() async throws {
        let playground = try await playground()
        let path = "\(Playground.examples)/export.zip"

        let first = try await playground.run("import", path)
        let again = try await playground.run("import", path)

        #expect(first.status == 0, "\(first.errors)")
        #expect(
            again.output.wholeMatch(
                of: /`export\.zip`: unchanged since it was read at \d{4}-.*Z\n/) != nil,
            "\(again.output)")
        #expect(again.errors == "")
    }

    @Test func `the report says what was found, by type, source and reason`() async throws {
        let playground = try await playground()
        let path = try playground.folder.write(
            "auto.json",
            Array(
                #"""
                {"data":{"metrics":[{"name":"heart_rate","units":"bpm","data":[
                 {"date":"2026-01-02 03:04:05 +0000","Min":61,"Avg":61,"Max":61,"source":"Band of Eve"},
                 {"date":"2026-01-02 03:05:05 +0000","Min":60,"Avg":61,"Max":62},
                 {"date":"soon","Avg":61}]}],"workouts":[{"start":1767323045}]}}
                """#.utf8))

        let lines = try await playground.run(
            "import", path, "--report", environment: ["TZ": "Europe/Zurich"])
        let plain = try await playground.json("import", path)
        let whole = try await playground.json("import", path, "--report")

        #expect(
            lines.outputLines == [
                "`auto.json`: 4 records read: 1 queued, 1 folded, 1 kept here, 1 refused; "
                    + "days, nights, sums and workouts: 1 queued",
                "days follow Europe/Zurich", "samples", "  heart_rate  1",
                "days, nights, sums and workouts",
                "  heart_rate  1",
                "no field for", "  workouts  1", "refused", "  bad date  1", "records by source",
                "  Band of Eve  1",
            ], "\(lines)")
        #expect(plain["kind"] == .string("health-auto-export"))
        #expect(whole["refused"]["bad date"] == .number(1))
        #expect(whole["metrics_known"] == .number(1) && whole["known"] == .number(1))
        #expect(!plain.keys.contains("by_source"))
        #expect(whole["by_source"]["Band of Eve"] == .number(1))
    }

    /// Writes an export made in November 2026 with these elements.
    private func writeExport(_ playground: Playground, _ elements: String...) throws -> String {
        let text = """
            <HealthData locale="en_GB">
             <ExportDate value="2026-11-14 20:05:00 +0000"/>
            \(elements.joined(separator: "\n"))
            </HealthData>

            """
        return try playground.folder.write("export.xml", Array(text.utf8))
    }

    private func record(_ type: String, _ unit: String, _ value: Int, _ day: String) -> String {
        """
        <Record type="HKQuantityTypeIdentifier\(type)" sourceName="a" unit="\(unit)" \
        startDate="\(day) 10:00:00 +0000" endDate="\(day) 10:00:00 +0000" value="\(value)"/>
        """
    }

    @Test func `a blood pressure that only a correlation has is counted as two records`()
        async throws
    {
        let playground = try await playground()
        let dates = #"startDate="2026-10-06 10:00:00 +0000" endDate="2026-10-06 10:00:00 +0000""#
        let path = try writeExport(
            playground,
            """
            <Correlation type="HKCorrelationTypeIdentifierBloodPressure" sourceName="a" \(dates)>
            """,
            record("BloodPressureSystolic", "mmHg", 120, "2026-10-06"),
            record("BloodPressureDiastolic", "mmHg", 80, "2026-10-06"), "</Correlation>")

        let result = try await playground.run("import", path, "-q")

        #expect(result.output == "`export.xml`: 2 records read: 1 queued, 1 paired\n")
        #expect(try playground.outbox() == ["queued": 1])
    }

    @Test func `a day of zeros is queued, and one without a possible value says why not`()
        async throws
    {
        let playground = try await playground()
        let path = try writeExport(
            playground, record("StepCount", "count", 0, "2026-10-01"),
            record("FlightsClimbed", "count", 0, "2026-10-01"),
            record("HeartRateVariabilitySDNN", "ms", 0, "2026-10-01"),
            record("RestingHeartRate", "count/min", 0, "2026-10-02"))

        let result = try await playground.run(
            "import", path, "-q", "--report", environment: ["TZ": "UTC"])
        let json = try await playground.json("import", path, "--report", "-q")

        #expect(
            result.outputLines.first
                == "`export.xml`: 4 records read: 1 queued, 3 folded; days, nights, sums and workouts: "
                + "1 queued, 1 refused; days follow UTC")
        #expect(
            result.outputLines.contains("days, nights, sums and workouts refused")
                && result.outputLines.contains("  outside what is physically possible  1"),
            "\(result)")
        #expect(json["made_refused"]["outside what is physically possible"] == .number(1))
        #expect(try playground.outbox() == ["queued": 2])
    }

    @Test(
        arguments: [
            ("missing", 66, "no file or folder `PATH`"),
            ("empty", 65, "`PATH` is empty; export it from the phone again"),
            (
                "text", 65,
                "`PATH` is neither an Apple Health export, nor of Health Auto Export, nor of samples"
            ),
            ("device", 65, "`PATH` is neither a file nor a folder"),
            ("loop", 74, "cannot read `PATH`: too many levels of symbolic links"),
        ] as [(String, Int32, String)])
    func `an unreadable file is reported in one line with its exit status`(
        what: String, status: Int32, message: String
    ) async throws {
        let playground = try await playground()
        let path = "\(playground.folder.path)/it"
        switch what {
        case "empty": try playground.folder.write("it", [])
        case "text": try playground.folder.write("it", Array("nothing of the kind".utf8))
        case "device": symlink("/dev/null", path)
        case "loop": symlink(path, path)
        default: break
        }

        let result = try await playground.run("import", path)

        #expect(
            result.isRefusal(status, "clarity-jobs: \(message.replacing("PATH", with: path))"),
            "\(result)")
    }

    @Test func `a truncated file keeps what was read and ends with 65`() async throws {
        let playground = try await playground()
        try playground.writeExport(heartRates: 10)
        let text = try TemporaryFolder.read("\(playground.folder.path)/export.xml")
        let path = try playground.folder.write("export.xml", text.dropLast(40))

        let result = try await playground.run("import", path, "-q")

        #expect(result.status == 65)
        #expect(result.output == "`export.xml`: 9 records read: 9 queued\n")
        #expect(
            result.errors.contains("`export.xml` breaks off at byte ")
                && result.errors.hasSuffix("; what was read before it is kept\n"))
    }

    @Test func `a file of samples names the bad ones and keeps the good ones`() async throws {
        let playground = try await playground()
        let path = try playground.folder.write("band.ndjson", Array(Self.samples.utf8))

        let result = try await playground.run("import", path, "-q")

        #expect(result.status == 65)
        #expect(result.output == "`band.ndjson`: 3 records read: 2 queued, 1 refused\n")
        #expect(
            result.errorLines == [
                "line 2: `value`: got a text, wanted a number of at least 0",
                "clarity-jobs: `band.ndjson` has 1 bad sample; the others are taken",
            ])
        #expect(access(path, F_OK) == 0)
    }

    @Test func `--since takes records from a date on, in the named time zone`() async throws {
        let playground = try await playground()
        let path = try playground.folder.write(
            "band.ndjson",
            Array(
                ["2026-01-01T22:59:59Z", "2026-01-01T23:00:00Z"].map {
                    "{\"kind\":\"heart_rate\",\"start\":\"\($0)\",\"value\":61}\n"
                }.joined().utf8))

        let result = try await playground.run(
            "import", path, "-q", "--since", "2026-01-02", "--time-zone", "Europe/Berlin")
        let unknown = try await playground.run("import", path, "--time-zone", "Europe/Atlantis")
        let without = try await playground.run(
            "import", path, "--time-zone", "Europe/London", environment: ["TZDIR": "/nonexistent"])

        #expect(
            result.output
                == "`band.ndjson`: 2 records read: 1 queued, 1 before the time asked for\n")
        #expect(
            unknown.isRefusal(
                64,
                "clarity-jobs: --time-zone `Europe/Atlantis` is no time zone that this machine knows",
                "help: write it as `Europe/London` or `UTC`"))
        #expect(
            without.isRefusal(
                64,
                "clarity-jobs: --time-zone `Europe/London` is no time zone that this machine knows",
                "help: install the time zones (Debian's package tzdata)"))
    }

    @Test func `the job file's settings of the same path apply`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { url, folder in
            Playground.standardJobFile(url: url, folder: folder).replacing(
                "path: \(folder)/export.xml",
                with: "path: \(folder)/export.xml\n    since: 2026-10-01T00:01:00Z")
        }
        try playground.writeExport(heartRates: 3)

        let folder = playground.folder.path
        mkdir("\(folder)/x", 0o700)

        let result = try await playground.run("import", "\(folder)/export.xml", "-q")
        #expect(
            result.output
                == "`export.xml`: 3 records read: 2 queued, 1 before the time asked for\n",
            "\(result)")
        for spelling in ["./export.xml", "x/../export.xml", ".//x/.././export.xml"] {
            let again = try await playground.run(
                "import", "\(folder)/\(spelling)", "-q", "--report")
            #expect(
                again.outputLines.first
                    == "`export.xml`: 3 records read: 2 known, 1 before the time asked for",
                "\(spelling): \(again)")
        }
    }

    @Test func `a bad file of a folder does not stop the others, and the exit status is 65`()
        async throws
    {
        let playground = try await playground()
        mkdir("\(playground.folder.path)/auto", 0o700)
        let point = #"{"date":"2026-01-02 03:04:05 +0000","Min":61,"Avg":61,"Max":61}"#
        let good =
            #"{"data":{"metrics":[{"name":"heart_rate","units":"bpm","data":["# + point + "]}]}}"
        try playground.folder.write("auto/1.json", Array("[]".utf8))
        try playground.folder.write("auto/2.json", Array(good.utf8))
        let path = "\(playground.folder.path)/auto"

        let result = try await playground.run(
            "import", path, "-q", "--kind", "health-auto-export")

        #expect(result.status == 65)
        #expect(result.output == "`auto`: 1 record read from 2 files: 1 queued\n")
        #expect(
            result.errors == "clarity-jobs: `\(path)/1.json` is no file of Health Auto Export\n")
    }

    @Test func `a spool folder cannot be imported, only a file in it`() async throws {
        let playground = try await playground()
        let path = playground.folder.path

        let result = try await playground.run("import", path, "--kind", "spool")

        #expect(
            result.isRefusal(
                65, "clarity-jobs: `\(path)` is a folder; name a file in it"), "\(result)")
    }

    // MARK: On a terminal

    /// Writes an export with so many records that importing it takes a while. Most of them are
    /// duplicates.
    private func writeLongExport(_ playground: Playground) throws -> String {
        try playground.writeExport(heartRates: 20_000)
        let text = try TemporaryFolder.read("\(playground.folder.path)/export.xml")
        let first = try #require(text.firstRange(of: Array(" <Record".utf8)))
        let last = try #require(text.lastRange(of: Array("</HealthData>".utf8)))
        let records = text[first.lowerBound..<last.lowerBound]
        var long = Array(text[..<first.lowerBound])
        for _ in 0..<20 { long += records }
        return try playground.folder.write("export.xml", long + text[last.lowerBound...])
    }

    @Test func `a progress bar is redrawn and removed at the end`() async throws {
        let playground = try await playground()
        try playground.writeExport(heartRates: 5000)

        let end = try await playground.onTerminal(
            "import", "\(playground.folder.path)/export.xml"
        ).finish()

        #expect(end.status == 0)
        #expect(
            end.screen.contains(/^\r\u{1B}\[K\[=* *\] \d+ %  \d+ kB of \d+ kB/), "\(end.screen)")
        #expect(
            end.screen.hasSuffix("\r\u{1B}[K`export.xml`: 5000 records read: 5000 queued\n"),
            "\(end.screen.suffix(200))")
    }

    @Test func `an interrupted import keeps what was read, and the next one adds the rest`()
        async throws
    {
        let playground = try await playground()
        let path = try writeLongExport(playground)

        let program = try playground.onTerminal("import", path)
        _ = await program.read(until: "] ")
        program.type("\u{3}")
        let end = await program.finish()
        let rest = try await playground.run("import", path, "-q")

        #expect(end.status == 130, "\(end.screen.suffix(200))")
        #expect(
            end.screen.hasSuffix(
                "\r\u{1B}[Kclarity-jobs: interrupted; what was read before it is kept\n"),
            "\(end.screen.suffix(200))")
        #expect(rest.status == 0, "\(rest.errors)")
        #expect(try playground.outbox() == ["queued": 20_000])
    }
}

extension Playground {
    /// Returns the number of samples of the outbox in each state.
    fileprivate func outbox() throws -> [String: Int] {
        var counts: [String: Int] = [:]
        try FileConnection(path: "\(statePath)/health.db", access: .readOnly).forEach(
            "SELECT state, count(*) FROM samples GROUP BY state"
        ) { counts[$0.text(0)] = Int($0.integer(1)) }
        return counts
    }
}

extension [UInt8] {
    fileprivate func lastRange(of part: [UInt8]) -> Range<Int>? { ranges(of: part).last }
}
