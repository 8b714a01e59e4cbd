import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

@Suite("Exports through the programs", .timeLimit(.minutes(5)))
struct SourceProgramTests {
    /// A reason why an export cannot be read at all.
    struct Bad: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var status: Int32
        /// The message after `upload: failed: `, with `PATH` for the file's path.
        var message: String
        var make: @Sendable (_ path: String) -> Void
    }

    @Test(arguments: [
        Bad(
            testDescription: "empty", status: 1,
            message: "`PATH` is empty; export it from the phone again",
            make: { write($0, "") }),
        Bad(
            testDescription: "not a zip", status: 78,
            message: "`PATH` is neither a zip archive nor an Apple Health export",
            make: { write($0, "nothing of the kind\n") }),
        Bad(
            testDescription: "a zip of nothing", status: 78,
            message: "`PATH` has no Apple Health export in it (an xml file whose root is "
                + "`HealthData`)",
            // The smallest zip archive is an end of central directory alone.
            make: { write($0, "PK\u{5}\u{6}" + String(repeating: "\0", count: 18)) }),
        Bad(
            testDescription: "an empty folder", status: 78,
            message: "`PATH` has no Apple Health export in it (an xml file whose root is "
                + "`HealthData`)",
            make: { mkdir($0, 0o700) }),
        Bad(
            testDescription: "a link to itself", status: 74,
            message: "cannot read `PATH`: too many levels of symbolic links",
            make: { symlink($0, $0) }),
        Bad(
            testDescription: "a device", status: 78,
            message: "`PATH` is neither a file nor a folder",
            make: { symlink("/dev/null", $0) }),
    ])
    func `an unreadable source is reported in one line, and read once it is repaired`(bad: Bad)
        async throws
    {
        let playground = try await Playground.quick()
        try await playground.logIn()
        let path = "\(playground.folder.path)/export.xml"
        bad.make(path)

        let result = try await playground.run("run", "upload")
        if unlink(path) != 0 { rmdir(path) }
        try playground.writeExport(heartRates: 3)
        let repaired = try await playground.run("run", "upload")

        let message = bad.message.replacing("PATH", with: path)
        #expect(
            result.isRefusal(
                bad.status, "upload: failed: \(message) (run 1)"), "\(result)")
        #expect(repaired.status == 0)
        #expect(try await playground.sandbox?.count("metrics") == 3)
    }

    private static func write(_ path: String, _ text: String) {
        guard let file = fopen(path, "w") else { return }
        fwrite(Array(text.utf8), 1, text.utf8.count, file)
        fclose(file)
    }

    @Test func `a truncated export keeps what was read, and a complete one adds the rest`()
        async throws
    {
        let playground = try await Playground.quick()
        let sandbox = try #require(playground.sandbox)
        try await playground.logIn()
        try playground.useExample("export.zip", bytes: 30_000)

        let cut = try await playground.run("run", "upload")
        let kept = try await sandbox.count("metrics")
        let run = try await playground.lastRun(of: "upload")
        try playground.useExample("export.zip")
        let whole = try await playground.run("run", "upload")

        #expect(cut.status == 1 && cut.output == "")
        #expect(cut.errorLines.count == 1)
        #expect(
            cut.errors.contains(
                /`export.xml` breaks off at byte \d+ of its text: the archive is damaged or cut off/
            ))
        #expect(cut.errors.contains("; what was read before it is kept (run "))
        #expect(run["state"] == .string("failed"))
        #expect(kept > 0 && kept == run["counts"]["samples_accepted"].number)
        #expect(whole.status == 0, "\(whole.errors)")
        let truth = try await truth("export")
        #expect(try await sandbox.count("metrics") == 820)
        #expect(try await sandbox.count("distinct_metric_ids") == 820)
        let again = try await playground.lastRun(of: "upload")["counts"]
        #expect(again["samples_read"] == truth["recordsRead"])
        #expect(again["samples_accepted"].number == 845 - kept)
    }

    @Test func `a text cut inside a record names the byte where the record begins`() async throws {
        let playground = try await Playground.quick()
        try await playground.logIn()
        try playground.writeExport(heartRates: 10)
        let text = try TemporaryFolder.read("\(playground.folder.path)/export.xml")
        let last = try #require(text.ranges(of: Array("<Record".utf8)).last?.lowerBound)
        try playground.folder.write("export.xml", text[..<(last + 20)])

        let result = try await playground.run("run", "upload")

        #expect(
            result.isRefusal(
                1,
                "upload: failed: read 9 records: 9 sent; `export.xml` breaks off at byte \(last) of its text: "
                    + "the text ends inside a tag; what was read before it is kept (run 1)"))
    }

    @Test func `a source's error is reported even without a login`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        // A sample that waits in the outbox makes the run check the login.
        try playground.writeExport(heartRates: 1)
        _ = try await playground.run("import", "\(playground.folder.path)/export.xml")
        unlink("\(playground.folder.path)/export.xml")

        let result = try await playground.run("run", "upload")

        #expect(result.status == 75)
        #expect(result.errors.contains("waits for a login; run `clarity-jobs auth login`"))
        #expect(result.errors.contains("no file or folder `\(playground.folder.path)/export.xml`"))
    }

    @Test func `the shipped example arrives with the counts of its maker`() async throws {
        let playground = try await Playground.quick()
        let sandbox = try #require(playground.sandbox)
        try await playground.logIn()
        try playground.useExample("export.zip")
        let truth = try await truth("export")

        let run = try await playground.run("run", "upload")

        #expect(run.status == 0, "\(run.errors)")
        let counts = try await playground.lastRun(of: "upload")["counts"]
        expect(counts, truth)
        let samples = total(truth["samples"])
        let queued = try #require(counts["samples_queued"].number)
        #expect(queued + (counts["samples_duplicate"].number ?? 0) == samples)
        let days = try #require(counts["metrics_queued"].number)
        #expect(days == counts["metrics_made"].number)
        // Blood glucose and workouts have no type there, and take the other route.
        let others =
            try #require(truth["samples"]["blood_glucose"].number)
            + #require(truth["workouts"].number)
        #expect(counts["samples_not_accepted"].number == 0)
        #expect(try await sandbox.count("metrics") == queued + days - others)
        #expect(try await sandbox.count("distinct_metric_ids") == queued + days - others)
    }

    @Test func `the malformed example is read as far as possible`() async throws {
        let playground = try await Playground.quick()
        let sandbox = try #require(playground.sandbox)
        try await playground.logIn()
        try playground.useExample("export-malformed.zip")
        let truth = try await truth("export-malformed")

        let run = try await playground.run("run", "upload")

        #expect(run.status == 1)
        let shown = try await playground.lastRun(of: "upload")
        expect(shown["counts"], truth)
        let offset = try #require(truth["brokeAt"]["byteOffset"].number)
        #expect(
            shown["failure"].text
                == "`export.xml` breaks off at byte \(offset) of its text: "
                + "\(truth["brokeAt"]["reason"].text ?? ""); what was read before it is kept")
        #expect(try await sandbox.count("metrics") == total(truth["samples"]))
    }

    private func expect(_ counts: JSONValue, _ truth: JSONValue) {
        #expect(counts["samples_read"] == truth["recordsRead"])
        #expect(counts["samples_kept_here"] == .number(total(truth["unmapped"])))
        #expect(counts["samples_refused"] == .number(total(truth["refused"])))
        #expect(counts["samples_paired"] == truth["pairedPartners"])
        #expect(counts["samples_folded"] == truth["aggregated"])
        #expect(counts["samples_repeated"] == truth["repeated"])
        #expect(counts["samples_nested"] == truth["nestedSkipped"])
    }

    private func truth(_ name: String) async throws -> JSONValue {
        let bytes = try TemporaryFolder.read("\(Playground.examples)/\(name).truth.json")
        return try JSONValue(String(decoding: bytes, as: UTF8.self))
    }

    private func total(_ counts: JSONValue) -> Int {
        counts.keys.compactMap { counts[$0].number }.reduce(0, +)
    }
}
