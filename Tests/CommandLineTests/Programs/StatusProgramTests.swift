import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Database
import Testing

/// `status` and `fresh:`, through the built programs.
@Suite("status", .timeLimit(.minutes(5)))
struct StatusProgramTests {
    private func playground(
        fresh: String, upload: String = "", sandbox: [String]? = ["--processing-steps", "1"]
    ) async throws -> Playground {
        try await Playground(sandboxOptions: sandbox) { url, folder in
            """
            version: 1
            backend: { url: "\(url)", retry_wait: 1ms }
            sources:
              - { kind: apple-health-export, path: \(folder)/export.xml, time_zone: UTC }
            fresh: { \(fresh) }
            jobs:
              - { id: upload, kind: bulk-upload, schedule: { every: 1h }\(upload) }
              - { id: refresh, kind: refresh, class: app-refresh, schedule: { every: 4h } }

            """
        }
    }

    /// Twelve hours after the first sample of `writeExport`. The samples are a minute apart.
    private let noon = "2026-10-01T12:00:00Z"

    @Test func `status shows goals that hold, the outbox, the session and the jobs`() async throws {
        let playground = try await playground(fresh: "heart_rate: 26h, profile: 100d")
        try await playground.logIn()
        try playground.writeExport(heartRates: 3)
        #expect(try await playground.run("run", "upload").status == 0)
        #expect(try await playground.run("run", "refresh").status == 0)

        let status = try await playground.run("status", "--now", noon)
        let quiet = try await playground.run("status", "--now", noon, "--quiet")
        let json = try await playground.json("status", "--now", noon)
        let lines = try await playground.run("status", "--now", noon, "-o", "ndjson")

        #expect(status.status == 0 && status.errors == "")
        #expect(
            status.outputLines.prefix(4) == [
                "heart_rate: holds: 11h 58m old, wanted within 1d 2h",
                "profile: holds: 0s old, wanted within 100d",
                "insights: holds: 0s old, wanted within 2d by default",
                "outbox: all sent; the backend processes 3",
            ])
        try #require(status.outputLines.count == 10)
        #expect(status.outputLines[4].hasPrefix("session: logged in, access until "))
        #expect(status.outputLines[5].hasPrefix("upload: succeeded "))
        #expect(status.outputLines[7] == "state directory: \(playground.statePath)")
        #expect(status.outputLines[8] == "job file: \(playground.jobFilePath)")
        #expect(quiet.status == 0 && quiet.output == "")
        #expect(json["holds"] == .bool(true))
        let goal = try #require(json["goals"].elements.first)
        #expect(goal["goal"].text == "heart_rate" && goal["age_seconds"].number == 43_080)
        #expect(goal["within_seconds"].number == 93_600 && goal["blame"] == .null)
        #expect(json["outbox"]["accepted"].number == 3)
        #expect(
            try lines.outputLines.map { try JSONValue($0)["what"].text } == [
                "goal", "goal", "goal", "outbox", "session", "job", "job", "installation",
            ])
        let installation = json["installation"]
        #expect(installation["state_directory"].text == playground.statePath)
        #expect(installation["job_file"].text == playground.jobFilePath)
        #expect(installation["loops"].elements.isEmpty && installation["last_look_at"] == .null)
    }

    @Test func `status names what starts the jobs`() async throws {
        let playground = try await playground(fresh: "profile: 100d", sandbox: nil)
        let none = try await playground.run("status")
        _ = try await playground.run("run", "--due")
        let once = try await playground.run("status")
        let loop = try playground.start(["loop"])
        _ = await loop.readErrorLine()
        let running = try await playground.run("status")
        // A signal to the loop, as every change sends it, leaves its note as it is.
        _ = try await playground.run("pause", "--all")
        let json = try await playground.json(status: 1, "status")["installation"]
        kill(loop.processID, SIGTERM)
        _ = await loop.finish()
        let after = try await playground.run("status")

        #expect(
            none.outputLines.last == "scheduler: none yet; see `clarity-jobs loop` and `run --due`")
        let last = "scheduler: no loop; one was last seen at 2"
        #expect(once.outputLines.last?.hasPrefix(last) == true, "\(once.output)")
        #expect(
            running.outputLines.last?.hasPrefix(
                "scheduler: loop, process \(loop.processID), since 2") == true, "\(running.output)")
        let only = try #require(json["loops"].elements.first)
        #expect(only["process"].number == Int(loop.processID))
        #expect(only["since"].text?.isEmpty == false)
        #expect(after.outputLines.last?.hasPrefix(last) == true, "\(after.output)")
    }

    @Test func `a waiting sample names its job and what the job waits for`() async throws {
        let playground = try await playground(
            fresh: "heart_rate: 26h, sleep: 36h",
            upload: ", constraints: { storage_free: 900TiB }")
        try await playground.logIn()
        try playground.writeExport(heartRates: 3)
        #expect(
            try await playground.run("import", "\(playground.folder.path)/export.xml").status == 0)
        #expect(try await playground.run("run", "--due").status == 75)
        let before = try playground.folder.contents()

        let status = try await playground.run("status", "--now", noon)
        let quiet = try await playground.run("status", "--now", noon, "-q")

        #expect(try playground.folder.contents() == before)
        #expect(status.status == 1 && status.errors == "")
        let line = try #require(status.outputLines.first)
        #expect(
            line.hasPrefix(
                "heart_rate: missed: none yet, wanted within 1d 2h: job `upload` waits for "
                    + "storage_free: wanted 900 TiB free, is "), "\(line)")
        #expect(line.contains(" free, since 2"))
        #expect(quiet.status == 1)
        #expect(quiet.outputLines.map { $0.prefix { $0 != ":" } } == ["heart_rate", "sleep"])
    }

    @Test func `a missed goal names the source, the person or the login that is the reason`()
        async throws
    {
        let playground = try await playground(fresh: "heart_rate: 26h")
        try await playground.logIn()
        let health = {
            try FileConnection(path: "\(playground.statePath)/health.db", access: .readWrite)
        }

        let never = try await playground.run("status", "--now", noon)
        try playground.writeExport(heartRates: 3)
        #expect(try await playground.run("run", "upload").status == 0)
        let old = try await playground.run("status", "--now", "2026-10-05T00:00:00Z")
        try health().execute("UPDATE outbox SET state = 'setAside', batch_id = NULL, reason = 'r'")
        let person = try await playground.json(status: 1, "status", "--now", noon)
        try health().execute(
            "UPDATE outbox SET state = 'queued', reason = NULL; DELETE FROM session")
        let login = try await playground.json(status: 1, "status", "--now", noon)

        #expect(
            never.outputLines.first
                == "heart_rate: missed: none yet, wanted within 1d 2h: no source was ever read")
        #expect(
            old.outputLines.first?.hasPrefix(
                "heart_rate: missed: 3d 23h 58m old, wanted within 1d 2h: nothing newer was there "
                    + "when the sources were read at ") == true)
        let (asked, out) = (person["goals"].elements.first, login["goals"].elements.first)
        #expect(asked?["blame"].text == "person")
        #expect(
            asked?["why"].text
                == "newer samples are set aside and want a person: see `clarity-jobs outbox`")
        #expect(out?["blame"].text == "login")
        #expect(login["session"]["logged_in"] == .bool(false))
    }

    @Test func `data that arrived once has a default goal, which a source cannot miss`()
        async throws
    {
        let playground = try await playground(fresh: "profile: 100d")
        try await playground.logIn()
        let before = try await playground.json(status: 1, "status", "--now", noon)["goals"]
            .elements
        try playground.writeExport(heartRates: 3)
        #expect(try await playground.run("run", "upload").status == 0)

        let quiet = try await playground.run("status", "--now", "2026-10-09T00:00:00Z")
        try FileConnection(path: "\(playground.statePath)/health.db", access: .readWrite).execute(
            "UPDATE outbox SET state = 'queued', batch_id = NULL")
        let held = try await playground.json(status: 1, "status", "--now", noon)

        #expect(before.map { $0["goal"].text } == ["profile"])
        let line = try #require(quiet.outputLines.first { $0.hasPrefix("heart rate") })
        #expect(
            line.hasPrefix(
                "heart rate: newest is of 2026-10-01T00:02:00Z, as in the sources (read "),
            "\(line)")
        let goal = try #require(held["goals"].elements.first { $0["goal"].text == "heart_rate" })
        #expect(goal["holds"] == .bool(false) && goal["default"] == .bool(true))
        #expect(goal["blame"].text == "job")
    }

    @Test func `without goals and data, status creates nothing and succeeds`() async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let status = try await playground.run("status")

        #expect(status.status == 0 && status.errors == "")
        #expect(
            status.outputLines.first == "session: nobody is logged in")
        let jobs = status.outputLines.dropLast(3)
        #expect(jobs.last?.hasPrefix("cleanup: no success yet; ") == true)
        #expect(try playground.folder.contents().keys.sorted() == ["jobs.yaml"])
    }

    @Test func `an invalid goal is an error of the job file`() async throws {
        let playground = try await playground(fresh: "heart_rat: 26h", sandbox: nil)

        let result = try await playground.run("status")

        #expect(result.status == 65)
        #expect(result.errors.contains("unknown key `heart_rat`"))
        #expect(result.errors.contains("did you mean `heart_rate`?"))
    }
}
