import ClarityScheduler
@testable import Platform
import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// Each kind of notice from its real cause to a real receiver, through a kill, to its end.
@Suite("Each kind of notice", .timeLimit(.minutes(5)))
struct NoticeKindProgramTests {
    /// A kind of notice, what causes it, and what ends it.
    struct Case: CustomTestStringConvertible, Sendable {
        var kind: String
        /// How the message begins.
        var text: String
        /// What the job file has besides the standard jobs.
        var settings = ""
        var cause: @Sendable (Playground) async throws -> Void
        var end: @Sendable (Playground) async throws -> Void

        var testDescription: String { kind }
    }

    static let cases = [
        Case(
            kind: "job-failed", text: "job `upload` failed; see `clarity-jobs history show ",
            cause: {
                try await $0.logIn()
                try $0.folder.write("export.xml", Array("no export".utf8))
                _ = try await $0.run("run", "upload")
            },
            end: {
                try $0.writeExport(heartRates: 1)
                _ = try await $0.run("run", "upload")
            }),
        Case(
            kind: "samples-set-aside", text: "1 sample waits for your decision; see ",
            cause: {
                try await $0.logIn()
                try $0.writeExport(heartRates: 1)
                try await $0.backend.addFault("POST /health-data/upload: 422 x*")
                _ = try await $0.run("run", "upload")
            },
            end: { _ = try await $0.run("outbox", "discard", "--all", "--yes") }),
        Case(
            kind: "goal-missed", text: "heart_rate is older than 2d; see `clarity-jobs status`",
            settings: "fresh: { heart_rate: 2d }",
            cause: {
                try await $0.logIn()
                try $0.writeExport(heartRates: 1)
                _ = try await $0.run("run", "upload", "status")
            },
            end: { playground in
                try playground.write {
                    NoticeKindProgramTests.jobFile($0, $1, "fresh: { heart_rate: 3660d }")
                }
            }),
        Case(
            kind: "login-needed", text: "job `refresh` waits for a login; run ",
            cause: { _ = try await $0.run("run", "refresh") },
            end: {
                try await $0.logIn()
                _ = try await $0.run("run", "refresh")
            }),
        Case(
            kind: "scheduler-overdue", text: "no scheduler ran between 20",
            cause: {
                _ = try await $0.run("run", "cleanup")
                try $0.change(
                    """
                    UPDATE job_records SET anchor_at_ms = anchor_at_ms - 172800000,
                        considered_until_ms = considered_until_ms - 172800000
                    WHERE job_id = 'cleanup';
                    UPDATE runs SET finished_at_ms = finished_at_ms - 172800000,
                        started_at_ms = started_at_ms - 172800000,
                        enqueued_at_ms = enqueued_at_ms - 172800000
                    """)
            },
            end: {
                try $0.change("UPDATE runs SET enqueued_at_ms = enqueued_at_ms - 86400000")
            }),
        Case(
            kind: "backup-old", text: "the newest backup is of 2026-",
            cause: {
                _ = try await $0.run("run", "cleanup")
                _ = try await $0.run("backup")
                try $0.backDateBackup(days: 9)
            },
            end: { _ = try await $0.run("backup") }),
        Case(
            kind: "disk-low", text: "job `narrow` waits for free space: ",
            settings: narrowJob("900TiB"),
            cause: { _ = try await $0.run("run", "narrow") },
            end: { playground in
                try playground.write { NoticeKindProgramTests.jobFile($0, $1, narrowJob("1MiB")) }
                _ = try await playground.run("run", "narrow")
            }),
        Case(
            kind: "backend-unreachable-for", text: "the backend cannot be reached since ",
            cause: {
                try await $0.logIn()
                try await $0.backend.addFault("* /*: reset x*")
                _ = try await $0.run("run", "refresh")
                try $0.change(
                    """
                    UPDATE runs SET started_at_ms = started_at_ms - 25200000,
                        enqueued_at_ms = enqueued_at_ms - 25200000
                    """)
            },
            end: {
                try await $0.backend.clearFaults()
                _ = try await $0.run("run", "refresh", "--force")
            }),
        Case(
            kind: "service-failed",
            text: "the service `clarity-jobs-run.service` failed (status 74) and does not run; ",
            cause: {
                _ = try await $0.run(
                    "notify", "failed", "clarity-jobs-run.service",
                    environment: [
                        "MONITOR_SERVICE_RESULT": "exit-code", "MONITOR_EXIT_STATUS": "74",
                    ])
            },
            end: { _ = try await $0.run("run", "--due") }),
    ]

    @Test(arguments: cases)
    func `a notice arrives once after a kill, and again when it is over`(notice: Case) async throws
    {
        let server = try ScriptedServer([.silence, .answer(), .answer()])
        let playground = try await Playground.quick { Self.jobFile($0, $1, notice.settings) }
        let notify =
            "notify: [{ kind: ntfy, url: \"\(server.url)/topic\", on: [\(notice.kind)] }]"
        try await notice.cause(playground)
        try playground.append(notify)

        // Killed between the row and the delivery: the receiver has the message and never answers.
        let killed = try playground.start(["run", "notify"])
        for await event in server.events { if case .request = event { break } }
        killed.signal(SIGKILL)
        _ = await killed.finish()
        let next = try await playground.run("run", "notify")
        let again = try await playground.run("run", "notify")
        let told = try await playground.json("notices", "list")
        try await notice.end(playground)
        try playground.append(notify)
        let last = try await playground.run("run", "notify")

        #expect([next, again, last].map(\.status) == [0, 0, 0], "\(next.errors)\(last.errors)")
        let bodies = server.requests.map(\.body)
        try #require(bodies.count == 3, "\(bodies)")
        #expect(bodies[0].hasPrefix(notice.text) && bodies[1] == bodies[0], "\(bodies)")
        let isOver =
            notice.kind == "job-failed" ? "job `upload` works again\n" : "over: \(notice.text)"
        #expect(bodies[2].hasPrefix(isOver), "\(bodies)")
        let row = try #require(told.elements.first { $0["kind"].text == notice.kind })
        #expect(row["messages_sent"].number == 1 && row["messages_perhaps_twice"].number == 1)
        #expect(row["resolved_at"].text == nil)
    }
}

extension NoticeKindProgramTests {
    fileprivate static func jobFile(_ url: String, _ folder: String, _ settings: String) -> String {
        "\(Playground.standardJobFile(url: url, folder: folder))\(settings)\n"
    }

    fileprivate static func narrowJob(_ space: String) -> String {
        """
          - id: narrow
            kind: command
            constraints: { storage_free: \(space) }
            options: { command: [/bin/true] }
        """
    }
}

extension Playground {
    fileprivate var backend: Sandbox { get throws { try #require(sandbox) } }

    /// Adds a line to the job file, unless it is the last one.
    fileprivate func append(_ line: String) throws {
        let text = String(decoding: try TemporaryFolder.read(jobFilePath), as: UTF8.self)
        guard !text.hasSuffix("\(line)\n") else { return }
        try folder.write("jobs.yaml", Array("\(text)\(line)\n".utf8))
    }

    /// Makes the only backup look as if it had been made some days before.
    fileprivate func backDateBackup(days: Int64) throws {
        let name = try #require(try DurableFile.names(in: "\(statePath)/backups").first)
        let path = "backups/\(name)/manifest"
        let text = String(
            decoding: try TemporaryFolder.read("\(statePath)/\(path)"), as: UTF8.self)
        var manifest = try #require(BackupManifest(text: text))
        manifest.madeAt = manifest.madeAt - .seconds(days * 86_400)
        try folder.write("state/\(path)", Array(manifest.text.utf8))
    }
}
