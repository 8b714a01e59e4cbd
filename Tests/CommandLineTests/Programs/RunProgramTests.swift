import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

@Suite("run", .timeLimit(.minutes(5)))
struct RunProgramTests {
    @Test func `-v shows the counts that are zero too`() async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let short = try await playground.run("run", "cleanup")
        let whole = try await playground.run("run", "cleanup", "-v")

        #expect(short.output == "cleanup: succeeded: nothing to do (run 1)\n")
        #expect(
            whole.output.contains(/^cleanup: succeeded: 0 samples removed, 0 .* \(run \d+\)\n$/),
            "\(whole.output)")
    }

    @Test func `named jobs start in their order, and say how each ended`() async throws {
        // One at a time, so that the refresh pulls what the upload has sent.
        let playground = try await Playground.quick { url, folder in
            Playground.standardJobFile(url: url, folder: folder)
                .replacing("jobs:\n", with: "defaults: { max_parallel: 1 }\njobs:\n")
        }
        try playground.writeExport(heartRates: 20)
        try await playground.logIn()

        let result = try await playground.run("run", "cleanup", "insights", "upload", "refresh")
        let again = try await playground.run("run", "upload", "insights")

        #expect(result.status == 0)
        #expect(
            result.outputLines.map { $0.prefix { $0 != "(" } }.sorted() == [
                "cleanup: succeeded: nothing to do ",
                "insights: succeeded: 23 insights pulled, 23 insights new, 23 texts fetched ",
                "refresh: succeeded: 23 insights pulled, 32 metrics pulled, 32 metrics new ",
                "status: succeeded: 1 upload confirmed, 20 samples confirmed ",
                "upload: succeeded: read 20 records: 20 sent ",
            ])
        #expect(
            again.outputLines.map { $0.prefix { $0 != ":" } }.sorted()
                == ["insights", "status", "upload"])
        let starts = try await started(playground)
        #expect(starts.prefix(4) == ["cleanup", "insights", "upload", "refresh"])
    }

    /// Returns the jobs of the runs that had an attempt, in the order in which the runs started.
    private func started(_ playground: Playground) async throws -> [String] {
        try await playground.json("history").elements
            .sorted {
                ($0["started_at"].text ?? "", $0["run"].number ?? 0)
                    < ($1["started_at"].text ?? "", $1["run"].number ?? 0)
            }
            .filter { $0["started_at"].text != nil }.compactMap { $0["job"].text }
    }

    @Test func `named jobs start in their order even if they were due already`() async throws {
        let playground = try await Playground.quick()
        try await playground.logIn()
        // The first run makes all five jobs due.
        _ = try await playground.run("run", "status")

        let result = try await playground.run("run", "cleanup", "insights", "refresh")

        #expect(
            result.outputLines.map { $0.prefix { $0 != ":" } }.sorted() == [
                "cleanup", "insights", "refresh",
            ])
        // Two run at a time, so the first two start at once.
        let starts = try await started(playground)
        #expect(Set(starts.dropFirst().prefix(2)) == ["cleanup", "insights"])
        #expect(starts.last == "refresh")
    }

    @Test(arguments: [[], ["-o", "json"]])
    func `the lines and the status of a named job leave out the ends of other runs`(
        form: [String]
    ) async throws {
        let playground = try await Playground(sandboxOptions: nil) { url, folder in
            Playground.standardJobFile(url: url, folder: folder).replacing(
                "kind: refresh, class: app-refresh, schedule: { every: 4h }",
                with: "kind: refresh, schedule: { every: 4h }, start_within: 1h, "
                    + "constraints: { storage_free: 900TiB }")
        }
        _ = try await playground.run("run", "--due")
        try playground.change(
            "UPDATE runs SET scheduled_for_ms = scheduled_for_ms - 7200000 WHERE job_id = 'refresh'"
        )

        let result = try await playground.start(["run", "cleanup"] + form).finish()

        let refresh = try await playground.json("history", "refresh").elements
        #expect(refresh.last?["state"] == .string("skipped"), "the other run ended meanwhile")
        #expect(result.status == 0, "\(result.errors)")
        #expect(!result.errors.contains("refresh"), "\(result.errors)")
        #expect(!result.output.contains("refresh"), "\(result.output)")
        #expect(result.output.contains("cleanup"))
    }

    @Test func `a successful job starts its followers once`() async throws {
        let playground = try await Playground.quick { url, folder in
            Playground.standardJobFile(url: url, folder: folder)
                .replacing(
                    "kind: processing-status, schedule: { every: 15m }",
                    with: "kind: processing-status")
        }
        try playground.writeExport(heartRates: 5)
        try await playground.logIn()

        let result = try await playground.run("run", "upload", "-o", "json")

        let runs = try JSONValue(result.output).elements
        #expect(runs.map { $0["job"] } == [.string("upload"), .string("status")])
        #expect(runs.map { $0["trigger"] } == [.string("manual"), .string("chain")])
        #expect(runs.last?["caused_by"] == runs.first?["run"])
        #expect(runs.last?["counts"]["samples_confirmed"] == .number(5))
    }

    @Test func `run --due runs due jobs once, and prints nothing on success or if nothing is due`()
        async throws
    {
        let playground = try await Playground.quick()
        try playground.writeExport(heartRates: 5)
        try await playground.logIn()

        let first = try await playground.run("run", "--due")
        let second = try await playground.run("run", "--due")

        for result in [first, second] {
            #expect(result.status == 0)
            #expect(result.output == "" && result.errors == "")
        }
        let runs = try await playground.json("history").elements
        let jobs = runs.compactMap { $0["job"].text }
        #expect(Set(jobs) == ["refresh", "upload", "status", "insights", "cleanup"])
        #expect(runs.allSatisfy { $0["state"] == .string("succeeded") })
        #expect(try await playground.sandbox?.count("metrics") == 5)
    }

    @Test func `run --due ends although each run takes longer than its interval`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { url, _ in
            """
            version: 1
            backend: { url: "\(url)" }
            jobs:
              - id: slow
                kind: command
                schedule: { every: 1s }
                overlap: queue
                options: { command: [sleep, 2] }

            """
        }

        let first = try await playground.run("run", "--due")
        let afterFirst = try await playground.history("slow").map(\.state)
        let second = try await playground.run("run", "--due")

        #expect(first.status == 0 && first.output == "" && first.errors == "", "\(first.errors)")
        #expect(afterFirst == ["enqueued", "succeeded"])
        #expect(second.status == 0, "\(second.errors)")
        #expect(
            try await playground.history("slow").map(\.state)
                == ["enqueued", "succeeded", "succeeded"])
    }

    @Test func `a due job that waits for a login is reported in one line, once`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        try playground.writeExport(heartRates: 1)

        let result = try await playground.run("run", "--due")
        let again = try await playground.run("run", "--due")

        #expect(result.status == 75)
        #expect(result.output == "")
        // From the job that found it first.
        #expect(result.errorLines.count == 1, "\(result.errors)")
        #expect(result.errors.contains("waits for a login; run `clarity-jobs auth login`"))
        #expect(again.status == 75 && again.output == "" && again.errors == "")
    }

    @Test func `a failed due job is reported in one line`() async throws {
        let playground = try await Playground.quick()
        try await playground.logIn()
        try playground.folder.write("export.xml", Array("<html></html>\n".utf8))

        let result = try await playground.run("run", "--due")

        #expect(result.status == 78)
        #expect(result.output == "")
        #expect(result.errorLines.count == 1)
        #expect(result.errors.hasPrefix("upload: failed: "), "\(result.errors)")
    }

    @Test func `thirty processes at once run each due job once`() async throws {
        let playground = try await Playground.quick()
        try playground.writeExport(heartRates: 50)
        try await playground.logIn()

        let children = try (0..<30).map { _ in try playground.start(["run", "--due"]) }
        var results: [ProgramResult] = []
        for child in children { results.append(await child.finish()) }
        // A run that follows another one may be left to the next process.
        let last = try await playground.run("run", "--due")

        #expect(Set(results.map(\.status)).isSubset(of: [0, 75]))
        #expect(results.allSatisfy { $0.output == "" && $0.errors == "" })
        #expect(last.status == 0)
        let runs = try await playground.json("history").elements
        let scheduled = runs.filter { $0["trigger"] == .string("schedule") }
        #expect(
            scheduled.compactMap { $0["job"].text }.sorted() == [
                "cleanup", "insights", "refresh", "status", "upload",
            ])
        #expect(runs.allSatisfy { $0["state"] == .string("succeeded") })
        #expect(runs.allSatisfy { $0["attempts"] == .number(1) })
        #expect(try await playground.sandbox?.count("metrics") == 50)
        #expect(try await playground.sandbox?.count("uploads") == 1)
    }

    @Test(arguments: [
        ("upolad", "no job `upolad` in the job file; did you mean `upload`?"),
        ("nightly-report", "no job `nightly-report` in the job file"),
        ("off", "job `off` has `enabled: false` in the job file"),
    ])
    func `a job that cannot run is named`(name: String, message: String) async throws {
        let playground = try await Playground(sandboxOptions: nil) { url, folder in
            Playground.standardJobFile(url: url, folder: folder)
                + "  - { id: off, kind: cleanup, enabled: false }\n"
        }

        let result = try await playground.run("run", name)

        #expect(result.isRefusal(64, "clarity-jobs: \(message)"))
    }

    @Test func `a job can be named by its kind if only one job has it`() async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await playground.run("run", "processing-status")

        #expect(result.output == "status: succeeded: nothing to do (run 1)\n")
    }
}
