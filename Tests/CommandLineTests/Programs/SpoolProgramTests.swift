import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Database
import Testing

@Suite("A spool folder and the other sources", .timeLimit(.minutes(5)))
struct SpoolProgramTests {
    /// Returns a playground whose job uploads from a spool folder and an export when they change.
    private func playground() async throws -> Playground {
        let playground = try await Playground.quick { url, folder in
            """
            version: 1
            backend: { url: \(url), retry_wait: 1ms }
            sources:
              - { kind: spool, path: \(folder)/spool }
              - { kind: apple-health-export, path: \(folder)/export.xml, time_zone: UTC }
            jobs:
              - { id: upload, kind: bulk-upload, schedule: { every: 30d }, on: [source-changed] }

            """
        }
        mkdir("\(playground.folder.path)/spool", 0o700)
        try playground.writeExport(heartRates: 1)
        try await playground.logIn()
        return playground
    }

    private func sample(_ minute: Int, _ value: String = "61") -> [UInt8] {
        Array(
            "{\"kind\":\"heart_rate\",\"start\":\"2026-01-02T03:\(10 + minute):05Z\",\"value\":\(value)}\n"
                .utf8)
    }

    @Test func `a good file moves to done, and the good samples of a bad one are sent`()
        async throws
    {
        let playground = try await playground()
        try playground.folder.write("spool/a.ndjson", sample(0) + sample(1))
        try playground.folder.write("spool/b.ndjson", sample(2) + sample(3, "null"))
        try playground.folder.write("spool/c.ndjson.part", sample(4))

        let run = try await playground.run("run", "upload")
        let told = try await playground.lastRun(of: "upload")
        let again = try await playground.run("run", "upload")

        #expect(run.status == 0, "\(run.errors)")
        #expect(try await playground.sandbox?.count("metrics") == 4)
        #expect(told["counts"]["files_done"] == .number(1))
        #expect(told["counts"]["files_rejected"] == .number(1))
        #expect(run.errors.contains("`spool`: 1 file has bad samples; see `rejected` in it"))
        let files = try playground.folder.contents().filter { $0.key.hasPrefix("spool/") }
        #expect(
            files.keys.sorted() == [
                "spool/c.ndjson.part", "spool/done", "spool/done/a.ndjson", "spool/rejected",
                "spool/rejected/b.ndjson", "spool/rejected/b.ndjson.reason",
            ])
        #expect(
            String(decoding: files["spool/rejected/b.ndjson.reason"] ?? [], as: UTF8.self) == """
                line 2: `value`: got null, wanted a number of at least 0
                1 good samples were taken

                """)
        #expect(again.status == 0)
        #expect(try await playground.sandbox?.count("distinct_metric_ids") == 4)
    }

    @Test(arguments: [["--dialect", "blueprint"], ["--dialect", "loop", "--quirks", "measured"]])
    func `moods, stress, cognition and the environment arrive as they were written`(
        options: [String]
    ) async throws {
        let playground = try await Playground(sandboxOptions: options) { url, folder in
            """
            version: 1
            backend: { url: \(url), retry_wait: 1ms }
            sources: [{ kind: spool, path: \(folder)/spool }]
            jobs: [{ id: upload, kind: bulk-upload }]

            """
        }
        mkdir("\(playground.folder.path)/spool", 0o700)
        let mind = #"{"mood_score":"good","stress_level":3.5,"notes":"a \"calm\" day"}"#
        let samples = [
            ("mood", mind), ("stress", #"{"stress_level":8}"#),
            ("cognitive", #"{"focus_rating":7,"meditation_minutes":12}"#),
            ("environmental", #"{"body_temperature":30.5}"#),
        ]
        let lines = samples.map { kind, value in
            #"{"kind":"\#(kind)","start":"2026-01-02T03:04:05Z","value":\#(value)}"#
        }
        try playground.folder.write(
            "spool/a.ndjson", Array(lines.joined(separator: "\n").utf8))
        try await playground.logIn()

        let run = try await playground.run("run", "upload")
        try playground.folder.write(
            "spool/again.ndjson", Array(lines.joined(separator: "\n").utf8))
        let again = try await playground.run("run", "upload")
        let audit = try await playground.run("audit")

        #expect(run.status == 0 && again.status == 0, "\(run.errors)\(again.errors)")
        #expect(audit.status == 0, "\(audit.output)")
        let database = try FileConnection(
            path: "\(playground.folder.path)/sandbox/sandbox.db", access: .readOnly)
        let isLoop = options.contains("loop")
        let bodies = try database.all(
            isLoop
                ? "SELECT body FROM healthkit_samples"
                : "SELECT body FROM metrics WHERE work_id IS NOT NULL"
        ) { $0.text(0) }
        let received = try Dictionary(
            uniqueKeysWithValues: bodies.map { body -> (String, JSONValue) in
                let json = try JSONValue(body)
                let type = json[isLoop ? "type" : "metric_type"].text ?? ""
                let payload =
                    type == "environmental" ? "biometric_data" : "mental_health_data"
                return (type, json[isLoop ? "value" : payload])
            })
        #expect(received.count == 4 && bodies.count == 4)
        let types = ["mood_assessment", "stress_indicators", "cognitive_metrics", "environmental"]
        for (type, (_, value)) in zip(types, samples) {
            let (found, wanted) = (try #require(received[type]), try JSONValue(value))
            #expect(wanted.keys.allSatisfy { found[$0] == wanted[$0] }, "\(found)")
            #expect(found.keys.subtracting(wanted.keys).isSubset(of: ["timestamp"]))
        }
    }

    @Test func `a dry run leaves the files where they are`() async throws {
        let playground = try await playground()
        try playground.folder.write("spool/a.ndjson", sample(0))

        let run = try await playground.run("dry-run", "upload")

        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.contains("2 samples queued"), "\(run.output)")
        #expect(
            try playground.folder.contents().keys.filter { $0.hasPrefix("spool/") }
                == ["spool/a.ndjson"])
    }

    @Test func `a missing folder does not stop the other sources`() async throws {
        let playground = try await playground()
        rmdir("\(playground.folder.path)/spool")

        let run = try await playground.run("run", "upload")

        #expect(run.status == 78)
        #expect(run.errors.contains("no file or folder `\(playground.folder.path)/spool`"))
        #expect(try await playground.sandbox?.count("metrics") == 1)
    }

    @Test func `each file that is moved in starts one upload, and moving it on starts none`()
        async throws
    {
        let playground = try await playground()
        let spool = "\(playground.folder.path)/spool"
        let loop = try playground.start(["loop"])
        _ = try #require(await loop.readErrorLine())
        var lines = [try #require(await loop.readErrorLine())]

        for (name, bytes) in [
            ("a", sample(0)), ("b", sample(1, "null")), ("c", sample(2)),
        ] {
            try playground.folder.write("spool/\(name).tmp", bytes)
            rename("\(spool)/\(name).tmp", "\(spool)/\(name).ndjson")
            lines.append(try await ended(loop))
        }
        // A new export, written beside the old one, replaces it. It has nothing new, so its run
        // prints no line.
        let export = try TemporaryFolder.read("\(playground.folder.path)/export.xml")
        try playground.folder.write("export.tmp", export + Array("\n".utf8))
        rename("\(playground.folder.path)/export.tmp", "\(playground.folder.path)/export.xml")
        var runs = try await playground.json("history", "upload").elements
        while runs.filter({ $0["state"] == .string("succeeded") }).count < 5 {
            runs = try await playground.json("history", "upload").elements
        }
        try playground.folder.write("spool/d.tmp", sample(3))
        rename("\(spool)/d.tmp", "\(spool)/d.ndjson")
        lines.append(try await ended(loop))
        loop.signal(SIGTERM)
        _ = await loop.finish()

        #expect(lines.count == 5)
        #expect(lines.allSatisfy { $0.hasPrefix("upload: succeeded: ") }, "\(lines)")
        #expect(lines.last?.contains(": 1 sent") == true, "\(lines)")
        runs = try await playground.json("history", "upload").elements
        #expect(runs.count == 6, "\(runs)")
        #expect(runs.filter { $0["trigger"] == .string("event") }.count == 5)
        #expect(try await playground.sandbox?.count("metrics") == 4)
        let files = try playground.folder.contents().keys.filter { $0.hasSuffix(".ndjson") }
        #expect(
            files.sorted() == [
                "spool/done/a.ndjson", "spool/done/c.ndjson", "spool/done/d.ndjson",
                "spool/rejected/b.ndjson",
            ])
    }

    /// Returns the loop's next line about a run, without the lines that belong to the run before.
    private func ended(_ loop: ChildProgram) async throws -> String {
        while true {
            let line = try #require(await loop.readErrorLine(), "the loop ended")
            if !line.hasPrefix("  ") { return line }
        }
    }

    // MARK: sources

    @Test func `sources shows the state of each source`() async throws {
        let playground = try await playground()
        let folder = playground.folder.path
        try playground.folder.write("spool/a.ndjson", sample(0))
        try playground.folder.write("spool/b.ndjson", sample(1, "null"))

        let before = try await playground.run("sources")
        let madeNothing = access(playground.statePath, F_OK) == 0
        _ = try await playground.run("run", "upload")
        let after = try await playground.json("sources").elements
        unlink("\(folder)/export.xml")
        let gone = try await playground.run("sources", "-o", "ndjson")

        #expect(madeNothing)
        #expect(
            before.outputLines == [
                "spool  \(folder)/spool", "  2 files wait",
                "apple-health-export  \(folder)/export.xml", "  never read",
            ], "\(before)")
        #expect(after.map { $0["kind"].text } == ["spool", "apple-health-export"])
        #expect(after.first?["state"] == .string("empty") && after.first?["rejected"] == .number(1))
        #expect(gone.outputLines.count == 2)
        #expect(gone.outputLines.last?.contains(#""state":"missing""#) == true)
    }

    @Test func `an export that was read counts as unchanged until it is replaced`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { url, folder in
            Playground.standardJobFile(url: url, folder: folder).replacing(
                "\(folder)/export.xml", with: "\(folder)/link.zip")
        }
        let link = "\(playground.folder.path)/link.zip"
        symlink("\(Playground.examples)/export.zip", link)

        let never = try await playground.json("sources").elements.first
        _ = try await playground.run("import", link)
        let read = try await playground.json("sources").elements.first
        unlink(link)
        symlink("\(Playground.examples)/export-malformed.zip", link)
        let changed = try await playground.json("sources").elements.first

        #expect(never?["state"] == .string("never_read") && never?["read_at"] == .null)
        #expect(read?["state"] == .string("unchanged"))
        #expect(isInstant(read?["read_at"].text))
        #expect((read?["counts"]["records"].number ?? 0) > 1000)
        #expect(changed?["state"] == .string("changed"))
    }
}
