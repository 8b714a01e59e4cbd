import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Database
import Testing

/// `status --all`, through the built programs.
@Suite("status --all", .timeLimit(.minutes(5)))
struct StatusAllProgramTests {
    /// Twelve hours after the first sample of `writeExport`. The samples are a minute apart.
    private let noon = "2026-10-01T12:00:00Z"

    private func playground(
        _ fresh: String = "heart_rate: 26h", sandbox: [String]? = ["--processing-steps", "1"]
    ) async throws -> Playground {
        try await Playground(sandboxOptions: sandbox) { url, folder in
            """
            version: 1
            backend: { url: "\(url)", retry_wait: 1ms }
            sources:
              - { kind: apple-health-export, path: \(folder)/export.xml, time_zone: UTC }
            fresh: { \(fresh) }
            jobs:
              - { id: upload, kind: bulk-upload, schedule: { every: 1h }, retry: { attempts: 1 } }

            """
        }
    }

    private func history(_ playground: Playground) throws -> Connection {
        try FileConnection(path: "\(playground.statePath)/history.db", access: .readWrite)
    }

    @Test func `an account is fresh until its newest sample is too old`() async throws {
        let playground = try await playground()
        try await playground.logIn()
        try playground.writeExport(heartRates: 3)
        #expect(try await playground.run("run", "upload").status == 0)

        let fresh = try await playground.run("status", "--all", "--now", noon)
        let quiet = try await playground.run("status", "--all", "--now", noon, "-q")
        let edge = try await playground.run("status", "--all", "--now", "2026-10-02T02:02:00Z")
        let late = try await playground.run("status", "--all", "--now", "2026-10-02T02:02:01Z")
        let json = try await playground.json("status", "--all", "--now", noon)
        let line = try await playground.run("status", "--all", "--now", noon, "-o", "ndjson")

        #expect(fresh.status == 0 && fresh.errors == "")
        #expect(
            fresh.outputLines == [
                "jobs.yaml: fresh until 2026-10-02T02:02:00Z", "1 account: 1 fresh",
            ])
        #expect(quiet.status == 0 && quiet.output == "")
        #expect(edge.status == 0)
        #expect(late.status == 1)
        let first = try #require(late.outputLines.first)
        #expect(
            first.hasPrefix(
                "jobs.yaml: not fresh since 2026-10-02T02:02:00Z: heart_rate missed; "
                    + "sources last read at 2"), "\(first)")
        #expect(late.outputLines.last == "1 account: 1 not fresh")
        #expect(json["holds"] == .bool(true))
        let account = try #require(json["accounts"].elements.first)
        #expect(account["account"].text == "jobs.yaml" && account["state"].text == "fresh")
        #expect(account["until"].text == "2026-10-02T02:02:00Z" && account["since"] == .null)
        #expect(account["waiting"].number == 0 && account["for_person"].number == 0)
        #expect(account["logged_in"] == .bool(true))
        #expect(try JSONValue(line.output)["known_at"].text == account["known_at"].text)
    }

    @Test(arguments: [true, false])
    func `no account's health data is opened`(isRemoved: Bool) async throws {
        let playground = try await playground()
        try await playground.logIn()
        try playground.writeExport(heartRates: 3)
        #expect(try await playground.run("run", "upload").status == 0)
        let before = try await playground.run("status", "--all", "--now", noon)
        for name in ["health.db", "keys/master.key"] {
            let path = "\(playground.statePath)/\(name)"
            if isRemoved {
                try #require(unlink(path) == 0)
            } else {
                // No permission would stop root, so the file is no database.
                try playground.folder.write("state/\(name)", Array("no database".utf8))
                try #require(chmod(path, 0) == 0)
            }
        }

        let after = try await playground.run("status", "--all", "--now", noon)
        let status = try await playground.run("status", "--now", noon)

        #expect(before.status == 0)
        #expect(after.status == 0 && after.errors == "" && after.output == before.output)
        #expect(status.status != 0)
    }

    @Test func `an account without an attempt is not known`() async throws {
        let playground = try await playground(sandbox: nil)

        let all = try await playground.run("status", "--all")

        #expect(all.status == 1 && all.errors == "")
        #expect(
            all.outputLines == ["jobs.yaml: nothing known yet", "1 account: 1 not known"])
        #expect(try playground.folder.contents().keys.sorted() == ["jobs.yaml"])
    }

    @Test func `a goal that the last attempt did not know is not known`() async throws {
        let playground = try await playground()
        try await playground.logIn()
        try playground.writeExport(heartRates: 3)
        #expect(try await playground.run("run", "upload").status == 0)
        try playground.write { url, _ in
            """
            version: 1
            backend: { url: "\(url)" }
            fresh: { heart_rate: 26h, profile: 1d }
            jobs: [{ id: cleanup, kind: cleanup }]

            """
        }

        let all = try await playground.run("status", "--all", "--now", noon)

        #expect(all.status == 1)
        #expect(all.outputLines.first == "jobs.yaml: not known: profile not looked at yet")
    }

    @Test func `an account that is not fresh names the login, the wait and the pause`()
        async throws
    {
        let playground = try await playground("heart_rate: 26h, profile: 2d")
        try playground.writeExport(heartRates: 3)
        #expect(try await playground.run("run", "upload").status == 75)
        _ = try await playground.run("pause", "upload", "--reason", "holiday")

        let all = try await playground.run("status", "--all")
        let json = try await playground.json(status: 1, "status", "--all", "-q")

        #expect(all.status == 1 && all.errors == "")
        let line = try #require(all.outputLines.first)
        #expect(
            line.hasPrefix(
                "jobs.yaml: not fresh: heart_rate, profile never arrived; nobody is logged in; "
                    + "3 samples waiting; sources last read at 2"), "\(line)")
        #expect(
            line.hasSuffix(
                "; upload is paused: holiday; upload waits for a login: nobody is logged in"),
            "\(line)")
        let account = try #require(json["accounts"].elements.first)
        #expect(account["missed"].elements.map(\.text) == ["heart_rate", "profile"])
        #expect(account["logged_in"] == .bool(false) && account["waiting"].number == 3)
    }

    @Test func `an account whose last run failed says so until a run succeeds`() async throws {
        let playground = try await playground()
        try await playground.logIn()
        try playground.writeExport(heartRates: 3)
        #expect(try await playground.run("run", "upload").status == 0)
        try playground.folder.write("export.xml", Array("<HealthData".utf8))
        #expect(try await playground.run("run", "upload", "--force").status == 1)

        let failed = try await playground.run("status", "--all", "--now", noon)
        try playground.writeExport(heartRates: 3)
        #expect(try await playground.run("run", "upload", "--force").status == 0)
        let after = try await playground.run("status", "--all", "--now", noon)

        #expect(failed.status == 0)
        let line = try #require(failed.outputLines.first)
        #expect(
            line.hasPrefix("jobs.yaml: fresh until 2026-10-02T02:02:00Z: upload failed at 2"),
            "\(line)")
        #expect(after.outputLines.first == "jobs.yaml: fresh until 2026-10-02T02:02:00Z")
    }

    @Test func `an account with an overdue job is not up to date`() async throws {
        let playground = try await playground("profile: 1d", sandbox: nil)
        #expect(try await playground.run("run", "--due").status == 75)
        let history = try history(playground)
        try history.execute(
            """
            UPDATE job_records SET anchor_at_ms = 1790812800000,
                considered_until_ms = 1790812800000;
            DELETE FROM account_facts;
            INSERT INTO account_facts VALUES
                ('', 'fresh_until.profile', 1790899200000, 1790812800000)
            """)

        let onTime = try await playground.run("status", "--all", "--now", "2026-10-01T01:15:00Z")
        let late = try await playground.run("status", "--all", "--now", "2026-10-01T01:15:01Z")

        #expect(onTime.status == 0)
        #expect(late.status == 1)
        #expect(
            late.outputLines == [
                "jobs.yaml: overdue: upload was due at 2026-10-01T01:00:00Z",
                "1 account: 1 overdue",
            ])
    }

    @Test func `every account has a line, and the last line counts them`() async throws {
        let playground = try await playground("profile: 1d, steps: 1d", sandbox: nil)
        try playground.write { url, folder in
            """
            version: 1
            backend: { url: "\(url)" }
            sources: [{ kind: spool, path: "\(folder)/{account}" }]
            fresh: { profile: 1d, steps: 1d }
            accounts:
              - { id: anna, sources: [] }
              - { id: ben }
              - { id: carl, jobs: { upload: { enabled: false } } }
              - { id: dora, fresh: { profile: 1d } }
              - { id: emil, enabled: false }
            jobs:
              - { id: upload, kind: bulk-upload, schedule: { every: 1h }, retry: { attempts: 1 } }

            """
        }
        _ = try await playground.run("run", "--due")
        try history(playground).execute(
            """
            DELETE FROM job_records;
            DELETE FROM runs;
            DELETE FROM account_facts;
            INSERT INTO account_facts VALUES
                ('anna', 'fresh_until.profile', 1790899200000, 1),
                ('anna', 'fresh_until.steps', 1790895600000, 1),
                ('ben', 'fresh_until.profile', 1790899200000, 1),
                ('ben', 'fresh_until.steps', 1790784000000, 1),
                ('ben', 'last_reading', 1790784000000, 1), ('ben', 'logged_in', 1, 1),
                ('ben', 'rejected', 1, 1), ('ben', 'set_aside', 1, 1),
                ('dora', 'fresh_until.profile', 1790899200000, 1),
                ('emil', 'fresh_until.profile', 1, 1), ('gone', 'fresh_until.profile', 1, 1)
            """)

        let all = try await playground.run("status", "--all", "--now", noon)
        let quiet = try await playground.run("status", "--all", "--now", noon, "-q", "-o", "ndjson")

        #expect(all.status == 1)
        #expect(
            all.outputLines == [
                "anna: fresh until 2026-10-01T23:00:00Z",
                "ben: not fresh since 2026-09-30T16:00:00Z: steps missed; 2 samples for you to "
                    + "decide; sources last read at 2026-09-30T16:00:00Z",
                "carl: nothing known yet",
                "dora: fresh until 2026-10-02T00:00:00Z",
                "4 accounts: 2 fresh, 1 not fresh, 1 not known",
            ])
        #expect(
            try quiet.outputLines.map { try JSONValue($0)["account"].text } == ["ben", "carl"])
    }
}
