import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// An owner of an export who has no server finds the program whole, and loses nothing by adding a
/// server later.
@Suite("Without a server", .timeLimit(.minutes(5)))
struct NoServerProgramTests {
    private static let read = "  - { id: read, kind: import, schedule: { every: 1h } }\n"

    private static func jobFile(
        _ folder: String, backend: String = "", jobs: String = read
    ) -> String {
        """
        version: 1
        \(backend)
        sources:
          - { kind: apple-health-export, path: \(folder)/export.xml, time_zone: UTC }
          - { kind: spool, path: \(folder)/spool }
        jobs:
        \(jobs)
        """
    }

    /// Returns a playground with a source of each kind and no backend in its job file.
    private func playground(
        jobs: String = read
    ) async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil) { _, folder in
            Self.jobFile(folder, jobs: jobs)
        }
        mkdir("\(playground.folder.path)/spool", 0o700)
        return playground
    }

    private func sample(_ minute: Int) -> [UInt8] {
        Array(
            "{\"kind\":\"heart_rate\",\"start\":\"2026-01-02T03:\(10 + minute):05Z\",\"value\":61}\n"
                .utf8)
    }

    @Test func `a job file needs no backend, and a job that needs one is held by name`()
        async throws
    {
        let playground = try await playground(
            jobs: Self.read + "  - { id: fetch, kind: refresh, schedule: { every: 1h } }\n")
        try playground.writeExport(heartRates: 3)

        let due = try await playground.run("run", "--due")
        let validated = try await playground.run("validate")
        let list = try await playground.json("list").elements
        let status = try await playground.run("status")

        let place = "\(playground.jobFilePath):8:24: "
        let fault =
            "job `fetch` is of the kind `refresh`, which needs a server, and the file has no "
            + "`backend`"
        let help = "add `backend: { url: https://... }`, or remove the job"
        #expect(due.status == 65 && due.errors.contains(place + fault), "\(due.errors)")
        #expect(
            validated.status == 65
                && validated.errorLines.prefix(2) == [place + fault, "help: \(help)"],
            "\(validated.errors)")
        #expect(list.map { $0["state"].text } == ["idle", "held"])
        #expect(status.outputLines.first == "fetch: HELD: \(place)\(fault); \(help)")
        let read = try await playground.lastRun(of: "read")
        #expect(read["state"].text == "succeeded")
    }

    @Test func `every kind that sends to the backend or fetches from it says so without one`()
        async throws
    {
        let kinds = [
            "refresh", "bulk-upload", "processing-status", "pat-analysis", "insight-generate",
            "insight-history",
        ]
        let others = ["import", "cleanup", "notify"]
        let playground = try await playground(
            jobs: (kinds + others).map { "  - { id: \($0), kind: \($0), on: [boot] }\n" }.joined())

        let validated = try await playground.run("validate")

        #expect(
            validated.errorLines.filter { $0.contains("needs a server") }.map {
                $0.split(separator: "`")[1]
            } == kinds.map { Substring($0) }, "\(validated.errors)")
        #expect(validated.errorLines.count == 2 * kinds.count)
    }

    @Test func `accounts share the one fault of a job that needs a server`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { _, folder in
            """
            version: 1
            sources: [{ kind: spool, path: "\(folder)/{account}" }]
            accounts: [{ id: anna }, { id: bert, time_zone: Asia/Tokyo }]
            jobs:
              - { id: fetch, kind: refresh, schedule: { every: 1h } }
              - { id: read, kind: import, schedule: { every: 1h } }

            """
        }

        let validated = try await playground.run("validate")
        let due = try await playground.run("run", "--due")
        let list = try await playground.json("list").elements

        #expect(validated.errors.ranges(of: "needs a server").count == 1, "\(validated.errors)")
        #expect(due.errors.ranges(of: "needs a server").count == 1, "\(due.errors)")
        #expect(list.map { $0["state"].text == "held" } == [true, false, true, false])
    }

    @Test func `an import accounts for every record, and says new where nothing is queued`()
        async throws
    {
        let playground = try await playground()
        try playground.useExample("export.zip")
        try playground.folder.write("spool/a.ndjson", sample(0) + sample(1))

        let run = try await playground.run("run", "read", "-v")
        let first = try await playground.lastRun(of: "read")["counts"]
        _ = try await playground.run("run", "read")
        let second = try await playground.lastRun(of: "read")["counts"]

        #expect(run.status == 0, "\(run.errors)")
        #expect(!(run.output + run.errors).contains("queued"), "\(run.output)\(run.errors)")
        #expect(!(run.output + run.errors).contains("no field for"))
        let parts = [
            "new", "duplicate", "paired", "folded", "repeated", "kept_here", "refused",
            "before_since",
        ]
        func count(_ counts: JSONValue, _ name: String) -> Int {
            counts["samples_\(name)"].number ?? 0
        }
        #expect(count(first, "read") > 2000)
        #expect(count(first, "read") == parts.reduce(0) { $0 + count(first, $1) }, "\(first)")
        #expect(count(first, "new") > 0 && first["metrics_new"].number ?? 0 > 0)
        #expect(count(first, "queued") == 0 && first["files_done"].number == 1)
        #expect(count(second, "read") == 0, "\(second)")
    }

    @Test func `an import starts when its source changes, and waits while there is none`()
        async throws
    {
        func playground() async throws -> Playground {
            try await Playground(sandboxOptions: nil) { _, folder in
                """
                version: 1
                sources: [{ kind: apple-health-export, path: "\(folder)/export.xml" }]
                jobs: [{ id: read, kind: import, on: [source-changed] }]

                """
            }
        }
        let (followed, empty) = (try await playground(), try await playground())
        _ = try await followed.run("run", "--due")
        try followed.writeExport(heartRates: 2)

        let due = try await followed.run("run", "--due")
        let waits = try await empty.run("run", "read")

        #expect(due.status == 0, "\(due.errors)")
        let run = try await followed.lastRun(of: "read")
        #expect(run["trigger"].text == "event" && run["state"].text == "succeeded", "\(run)")
        #expect(run["counts"]["samples_new"] == .number(2))
        #expect(waits.status == 75, "\(waits.output)\(waits.errors)")
    }
}
