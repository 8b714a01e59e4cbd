import ClarityScheduler
import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Database
import Testing

/// An account has one time zone, whatever file its days come from.
@Suite("The time zone of days", .timeLimit(.minutes(5)))
struct DayZoneProgramTests {
    /// Returns a playground whose only source is an export, with or without a time zone.
    private func playground(zone: String? = "Europe/Madrid") async throws -> Playground {
        let playground = try await Playground { url, folder in
            jobFile(url, folder, zone)
        }
        try await playground.logIn()
        try playground.useExample("export.zip")
        return playground
    }

    private func jobFile(_ url: String, _ folder: String, _ zone: String?) -> String {
        Playground.standardJobFile(url: url, folder: folder).replacing(
            "path: \(folder)/export.xml",
            with: "path: \(folder)/export.xml" + (zone.map { "\n    time_zone: \($0)" } ?? ""))
    }

    /// Copies the export to a path that the job file does not name.
    private func copy(in playground: Playground) throws -> String {
        try playground.folder.write(
            "copy.zip", try TemporaryFolder.read("\(Playground.examples)/export.zip"))
    }

    @Test func `the same export from another path sends no day twice`() async throws {
        let playground = try await playground()
        _ = try await playground.run("run", "upload")
        let before = try playground.sentDays()

        let imported = try await playground.run(
            "import", try copy(in: playground), "-q", environment: ["TZ": "Etc/UTC"])
        let upload = try await playground.run("run", "upload")

        #expect(imported.status == 0 && upload.status == 0, "\(imported) \(upload)")
        #expect(before.count == 42 && Set(before).count == 42)
        #expect(try playground.sentDays() == before)
        #expect(!imported.output.contains("corrected"), "\(imported.output)")
        #expect(
            imported.output.hasPrefix("`copy.zip`: the same records were read at "),
            "\(imported.output)")
    }

    @Test func `an import that names another time zone is refused and changes nothing`()
        async throws
    {
        let playground = try await playground()
        _ = try await playground.run("run", "upload")
        let (rows, sent) = (try playground.outboxRows(), try playground.sentDays())
        let copy = try copy(in: playground)

        let refused = try await playground.run("import", copy, "--time-zone", "Asia/Tokyo")
        let upload = try await playground.run("run", "upload")

        #expect(
            refused.isRefusal(
                78,
                "clarity-jobs: `\(copy)` would be read with the time zone `Asia/Tokyo`, but the "
                    + "days of this account follow `Europe/Madrid`; leave out the time zone, or "
                    + "change it for all days with `clarity-jobs import FILE --time-zone "
                    + "Asia/Tokyo --change-time-zone`"), "\(refused)")
        #expect(upload.status == 0)
        #expect(try playground.outboxRows() == rows && playground.sentDays() == sent)
    }

    @Test func `a job whose source names another time zone reads nothing and still sends`()
        async throws
    {
        let playground = try await playground()
        _ = try await playground.run("import", "\(playground.folder.path)/export.xml", "-q")
        try playground.write { jobFile($0, $1, "Asia/Tokyo") }

        let upload = try await playground.run("run", "upload")

        #expect(upload.status == 78, "\(upload)")
        #expect(upload.errors.contains("the days of this account follow `Europe/Madrid`"))
        #expect(Set(try playground.sentDays()).count == 42)
        #expect(
            try playground.sentDays().allSatisfy {
                $0.hasSuffix("T22:00:00Z")
                    || $0.hasSuffix("T23:00:00Z")
            })
    }

    @Test func `unsent days are made again when the time zone changes`() async throws {
        let playground = try await playground()
        _ = try await playground.run("import", "\(playground.folder.path)/export.xml", "-q")

        let changed = try await playground.run(
            "import", "\(playground.folder.path)/export.xml", "-q", "--time-zone", "Asia/Tokyo",
            "--change-time-zone")
        try playground.write { jobFile($0, $1, "Asia/Tokyo") }
        let upload = try await playground.run("run", "upload")

        #expect(changed.status == 0 && upload.status == 0, "\(changed) \(upload)")
        #expect(changed.output.hasSuffix("; days follow Asia/Tokyo\n"), "\(changed.output)")
        let sent = try playground.sentDays()
        #expect(sent.allSatisfy { $0.hasSuffix("T15:00:00Z") }, "\(sent)")
        #expect(Set(sent).count == sent.count && sent.count >= 42)
    }

    /// In Pago Pago the clock is exactly half a day off, and in London winter days differ by an
    /// hour.
    @Test(arguments: ["Asia/Tokyo", "Etc/UTC", "Pacific/Pago_Pago", "Europe/London"])
    func `a sent day is not followed by a shifted one`(zone: String) async throws {
        let playground = try await playground()
        _ = try await playground.run("run", "upload")
        let before = try playground.sentDays()

        let changed = try await playground.run(
            "import", try copy(in: playground), "-q", "--time-zone", zone, "--change-time-zone")
        try playground.write { jobFile($0, $1, zone) }
        let upload = try await playground.run("run", "upload")
        let again = try await playground.run("run", "upload")
        let sums = try await playground.run("audit")

        #expect(changed.status == 0 && upload.status == 0 && again.status == 0, "\(changed)")
        #expect(sums.status == 0, "\(sums)")
        #expect(changed.output.contains(" kept as they were sent"), "\(changed.output)")
        let sent = try playground.sentDayStarts()
        #expect(try Set(playground.sentDays()).isSuperset(of: before))
        // One more if the last day had already ended in the other zone.
        #expect(sent.count <= before.count + 1)
        #expect(zip(sent, sent.dropFirst()).allSatisfy { $1 - $0 > 12 * 3600 }, "\(sent)")
    }

    @Test func `changing the time zone requires naming one`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        try playground.writeExport(heartRates: 3)

        let result = try await playground.run(
            "import", "\(playground.folder.path)/export.xml", "--change-time-zone")

        #expect(
            result.isRefusal(
                64, "clarity-jobs: --change-time-zone wants a time zone",
                "help: name it with --time-zone"), "\(result)")
    }

    @Test func `without a time zone, the machine's is recorded and shown`() async throws {
        let playground = try await playground(zone: nil)
        let tokyo = ["TZ": "Asia/Tokyo"]

        let first = try await playground.start(
            ["import", "\(playground.folder.path)/export.xml", "-q"], environment: tokyo
        ).finish()
        let elsewhere = try await playground.json(
            "import", try copy(in: playground), "--report", "-q")
        let lines = try await playground.run("import", try copy(in: playground), "--report", "-q")
        let sources = try await playground.run("sources")
        let json = try await playground.json("sources")

        #expect(first.output.hasSuffix("; days follow Asia/Tokyo\n"), "\(first)")
        #expect(elsewhere["time_zone"] == .string("Asia/Tokyo"))
        #expect(lines.outputLines.contains("days follow Asia/Tokyo"), "\(lines)")
        #expect(sources.outputLines.first == "days follow Asia/Tokyo", "\(sources)")
        #expect(json.elements.map { $0["time_zone"] } == [.string("Asia/Tokyo")])
    }

    @Test func `an import before the first job takes the time zone of the job file`() async throws {
        let playground = try await playground()

        let imported = try await playground.run("import", try copy(in: playground), "-q")
        let upload = try await playground.run("run", "upload")

        #expect(imported.output.hasSuffix("; days follow Europe/Madrid\n"), "\(imported.output)")
        #expect(upload.status == 0, "\(upload)")
        #expect(try playground.sentDays().count == 42)
    }

    // MARK: Files of earlier releases

    /// Removes the note that only this release writes. An earlier release recorded the machine's
    /// zone, and only if some source named none.
    private func age(_ playground: Playground, noted zone: String?) throws {
        let file = try FileConnection(path: "\(playground.statePath)/health.db", access: .readWrite)
        try file.execute("DELETE FROM day_zone")
    }

    @Test func `a file of an earlier release keeps the time zone of its days`() async throws {
        let playground = try await playground()
        _ = try await playground.run("run", "upload")
        let before = try playground.sentDays()
        try age(playground, noted: nil)

        let guessed = try await playground.run(
            "import", try copy(in: playground), "-q", environment: ["TZ": "Etc/UTC"])
        let upload = try await playground.run("run", "upload")

        #expect(guessed.status == 0 && upload.status == 0, "\(guessed) \(upload)")
        #expect(try playground.sentDays() == before)
    }

    @Test func `days of an earlier release that fit no known zone are not doubled by a guess`()
        async throws
    {
        let playground = try await playground()
        _ = try await playground.run("run", "upload")
        let before = try playground.sentDays()
        try age(playground, noted: nil)
        try playground.write { jobFile($0, $1, nil) }

        let guessed = try await playground.run(
            "import", try copy(in: playground), "-q", environment: ["TZ": "Etc/UTC"])
        let named = try await playground.run(
            "import", try copy(in: playground), "-q", "--time-zone", "Europe/Madrid")
        let upload = try await playground.run("run", "upload")

        #expect(guessed.status == 78, "\(guessed)")
        #expect(
            guessed.errors
                == "clarity-jobs: the 42 days of this account do not follow `Etc/UTC`; name their "
                + "time zone with `time_zone` in the job file or with `--time-zone`\n")
        #expect(named.status == 0 && upload.status == 0, "\(named) \(upload)")
        #expect(try playground.sentDays() == before)
    }
}

extension Playground {
    /// Returns the start of each day in the sandbox's own file, in seconds since 1970.
    fileprivate func sentDayStarts() throws -> [Int64] {
        try FileConnection(path: "\(folder.path)/sandbox/sandbox.db", access: .readOnly).all(
            """
            SELECT created_at_ms / 1000 FROM metrics WHERE type = 'activity_level'
            ORDER BY created_at_ms, sequence
            """
        ) { $0.integer(0) }
    }

    fileprivate func sentDays() throws -> [String] {
        try sentDayStarts().map { Instant(secondsSince1970: $0).description }
    }
}
