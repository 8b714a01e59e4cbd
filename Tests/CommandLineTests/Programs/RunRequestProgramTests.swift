import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

@Suite("cancel, retry and audit", .timeLimit(.minutes(5)))
struct RunRequestProgramTests {
    /// Returns a job file whose upload waits for a condition that never holds.
    private func waiting(url: String, folder: String) -> String {
        Playground.standardJobFile(url: url, folder: folder).replacing(
            "kind: bulk-upload",
            with: "kind: bulk-upload\n    constraints: { storage_free: 1024TiB }")
    }

    @Test func `a waiting run can be cancelled and retried`() async throws {
        let playground = try await Playground(sandboxOptions: nil, jobFile: waiting)
        let waits = try await playground.run("run", "upload")

        let cancelled = try await playground.run("cancel", "upload")
        let first = try await playground.lastRun(of: "upload")
        let again = try await playground.run("cancel", "1")
        let retried = try await playground.run("retry", "upload")
        let second = try await playground.lastRun(of: "upload")

        #expect(waits.status == 75)
        #expect(cancelled.output.hasSuffix(": cancelled\n"), "\(cancelled)")
        #expect(first["state"] == .string("cancelled"))
        #expect(first["stop_reason"] == .string("cancelled"))
        #expect(again.status == 64)
        #expect(again.errors == "clarity-jobs: run 1 has ended already: cancelled\n")
        #expect(
            retried.output.hasSuffix(": no loop runs, the next `run --due` starts it once it may\n")
        )
        #expect(second["state"] == .string("enqueued"))
        #expect(second["caused_by"] == first["run"])
        #expect(try await playground.run("audit").output.hasPrefix("the history is sound: "))
    }

    @Test func `the waiting run of a job that left the job file can be cancelled by its name`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil, jobFile: waiting)
        _ = try await playground.run("run", "upload")
        let text = try TemporaryFolder.read(playground.jobFilePath)
        let renamed = String(decoding: text, as: UTF8.self).replacing(
            "id: upload", with: "id: send")
        try playground.folder.write("jobs.yaml", Array(renamed.utf8))

        let cancelled = try await playground.run("cancel", "upload")
        let again = try await playground.run("cancel", "upload")

        #expect(cancelled.status == 0 && cancelled.output.hasSuffix(": cancelled\n"))
        #expect(again.status == 64 && again.errors.contains("no job `upload` in the job file"))
    }

    @Test func `another process cancels a loop's run within its warning time`() async throws {
        let playground = try await Playground.quick { url, folder in
            Playground.standardJobFile(url: url, folder: folder).replacing(
                "kind: bulk-upload", with: "kind: bulk-upload\n    warning: 200ms")
        }
        try playground.writeExport(heartRates: 5)
        try await playground.logIn()
        try await #require(playground.sandbox).addFault("POST /health-data/upload: hang x*")
        let loop = try playground.start(["loop"])
        // All other runs end; the upload hangs.
        for _ in 0...4 { _ = try #require(await loop.readErrorLine()) }

        let asked = try await playground.run("cancel", "upload")
        let line = try #require(await loop.readErrorLine())
        loop.signal(SIGTERM)
        let end = await loop.finish()

        #expect(asked.status == 0, "\(asked.errors)")
        #expect(
            asked.output.wholeMatch(of: /run \d+: asked process [0-9]+ to end it\n/) != nil,
            "\(asked.output)")
        #expect(line.contains("upload: cancelled: "), "\(line)")
        #expect(end.status == 143)
        #expect(
            try await playground.lastRun(of: "upload")["stop_reason"] == .string("cancelled"))
    }

    @Test(arguments: [
        (["cancel"], "clarity-jobs: `cancel` wants runs or jobs\n"),
        (["cancel", "77"], "clarity-jobs: no run 77 in the history\n"),
        (["cancel", "upload"], "clarity-jobs: job `upload` has no unfinished run\n"),
        (["retry", "upload"], "clarity-jobs: job `upload` has no run yet\n"),
    ])
    func `an unknown run can be neither cancelled nor retried`(
        words: [String], line: String
    ) async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await playground.start(words).finish()

        #expect(result.status == 64)
        #expect(result.errors == line)
    }

    @Test func `an audit names what is wrong and fails`() async throws {
        let playground = try await Playground(sandboxOptions: nil, jobFile: waiting)
        _ = try await playground.run("run", "upload")
        try playground.change(
            "UPDATE runs SET attempts = 2, started_at_ms = scheduled_for_ms WHERE job_id = 'upload'"
        )

        let result = try await playground.run("audit")
        let json = try await playground.json(status: 1, "audit").elements

        #expect(result.status == 1)
        #expect(result.output.hasPrefix("attempts: run "), "\(result.output)")
        #expect(json.first?["rule"] == .string("attempts"))
        #expect(json.first?["offence"] == .bool(true))
    }
}
