import ClarityTestSupport
import Glibc
import Testing

@testable import ProgramTestSupport

/// A fault in a job file stops no more than it has to.
@Suite("A faulty job file", .timeLimit(.minutes(5)))
struct FaultyJobFileProgramTests {
    private static func jobFile(fetch: String = "command: [\"true\"]") -> String {
        """
        version: 1
        jobs:
          - id: fetch
            kind: command
            schedule: { every: 1h }
            options: { \(fetch) }
          - id: backup
            kind: command
            schedule: { every: 1h }
            then: [fetch]
            options: { command: [echo, saved] }

        """
    }

    private static let misspelt = "comand: [\"true\"]"
    private static let syntax = "version: 1\njobs: [\n"

    private func playground(_ text: String) async throws -> Playground {
        try await Playground(sandboxOptions: nil) { _, _ in text }
    }

    @Test func `a job with a fault is held, and the other jobs run`() async throws {
        let playground = try await playground(Self.jobFile(fetch: Self.misspelt))

        let due = try await playground.run("run", "--due")
        let list = try await playground.json("list").elements
        let status = try await playground.run("status")
        let byHand = try await playground.run("run", "fetch")
        let explained = try await playground.run("explain", "fetch")
        let next = try await playground.run("next")
        let validated = try await playground.run("validate")
        try playground.folder.write("jobs.yaml", Array(Self.jobFile().utf8))
        let mended = try await playground.run("run", "--due")
        let after = try await playground.run("status", "--quiet")
        let runs = try await playground.json("history").elements

        let fault =
            "\(playground.jobFilePath):6:16: unknown key `comand` in `options` of job `fetch`; "
            + "did you mean `command`?"
        #expect(due.status == 65 && due.errors.contains(fault), "\(due.errors)")
        #expect(list.map { $0["state"].text } == ["held", "idle"])
        #expect(list.first?["fault"].text == fault && list.last?["fault"] == .null)
        #expect(status.status == 1)
        #expect(status.outputLines.first == "fetch: HELD: \(fault)", "\(status.output)")
        #expect(byHand.status == 65 && byHand.errors.contains(fault))
        #expect(explained.status == 65 && explained.errors.contains(fault))
        #expect(next.errors.contains("fetch: \(fault)"), "\(next.errors)")
        #expect(validated.status == 65 && validated.errors.contains(fault))
        #expect(mended.status == 0 && after.status == 0, "\(mended.errors) \(after.output)")
        #expect(runs.map { $0["job"].text } == ["fetch", "backup"])
        #expect(runs.allSatisfy { $0["state"].text == "succeeded" })
    }

    @Test(arguments: [
        ("a syntax fault", syntax), ("another version", "version: 2\njobs: []\n"),
        ("a fault of defaults", "version: 1\ndefaults: { overlap: often }\njobs: []\n"),
        (
            "an id twice",
            "version: 1\njobs: [{ id: a, kind: command, options: { command: [x] } }, "
                + "{ id: a, kind: command, options: { command: [x] } }]\n"
        ),
    ])
    func `while the whole file is faulty, commands show the last valid one and start nothing`(
        name: String, text: String
    ) async throws {
        let playground = try await playground(Self.jobFile())
        let first = try await playground.run("run", "--due")
        try playground.folder.write("jobs.yaml", Array(text.utf8))

        let status = try await playground.run("status")
        let json = try await playground.json(status: 1, "status", "--quiet")
        let list = try await playground.run("list")
        let history = try await playground.run("history")
        let logs = try await playground.run("logs", "backup")
        let refused = [
            try await playground.run("run", "--due"), try await playground.run("run", "fetch"),
            try await playground.run("loop"), try await playground.run("dry-run", "fetch"),
            try await playground.run("validate"),
        ]

        #expect(first.status == 0)
        #expect(status.status == 1)
        let line = try #require(status.outputLines.first)
        #expect(
            line.hasPrefix("job file: FAULTY: \(playground.jobFilePath):")
                && line.hasSuffix("; the jobs are as they were before"), "\(status.output)")
        #expect(json["job_file_fault"].text?.hasPrefix(playground.jobFilePath) == true)
        #expect(list.status == 0 && list.output.contains("backup"))
        #expect(list.errors.contains("clarity-jobs: using the job file as it was last valid"))
        #expect(history.status == 0 && history.output.contains("succeeded"))
        #expect(logs.status == 0 && logs.output.contains("saved"))
        #expect(refused.map(\.status) == [65, 65, 65, 65, 65])
    }

    @Test func `a fault in the valid copy has the line that it had in the job file`() async throws {
        let playground = try await playground(Self.jobFile(fetch: Self.misspelt))
        let held = try await playground.run("run", "--due")
        try playground.folder.write("jobs.yaml", Array(Self.syntax.utf8))

        let list = try await playground.json("list").elements

        #expect(held.status == 65)
        #expect(
            list.first?["fault"].text?.hasPrefix("\(playground.jobFilePath):6:16: ") == true,
            "\(list)")
    }

    @Test func `the metrics say what is faulty, and what is held`() async throws {
        let playground = try await playground(Self.jobFile(fetch: Self.misspelt))
        let exporter = try playground.start(["exporter", "--listen", "127.0.0.1:0"])
        let ready = try #require(await exporter.readErrorLine())
        let port = try #require(
            ready.split(separator: ":").last.flatMap { UInt16($0.prefix { $0.isNumber }) })
        let figures = { () async throws -> [Substring] in
            try await LoopbackRequest.send("GET", "/metrics", port: port).split(separator: "\n")
                .filter { $0.contains("faulty ") || $0.contains("held_jobs ") }
                .filter { !$0.hasPrefix("#") }
        }

        _ = try await playground.run("run", "--due")
        let held = try await figures()
        try playground.folder.write("jobs.yaml", Array(Self.syntax.utf8))
        let faulty = try await figures()
        exporter.signal(SIGTERM)
        _ = await exporter.finish()

        let prefix = "clarity_jobs_"
        #expect(held == ["\(prefix)job_file_faulty 0", "\(prefix)held_jobs 1"])
        #expect(faulty == ["\(prefix)job_file_faulty 1", "\(prefix)held_jobs 1"])
    }

    @Test func `a faulty file that no scheduler has ever used is refused by every command`()
        async throws
    {
        let playground = try await playground(Self.syntax)

        #expect(try await playground.run("status").status == 65)
        #expect(try await playground.run("list").status == 65)
    }

    @Test func `the state directory of a file with a syntax fault is the one that it names`()
        async throws
    {
        let text = Self.jobFile().replacing(
            "version: 1", with: "version: 1\nstore: { directory: own }")
        let playground = try await playground(text)
        let program = "\(ChildProgram.folder)/clarity-jobs"
        let surroundings = ["HOME": playground.folder.path, "PATH": "/usr/bin:/bin"]
        let options = ["--config", playground.jobFilePath]
        let ran = try await ChildProgram(
            program, ["run", "--due"] + options, environment: surroundings
        ).finish()
        try playground.folder.write("jobs.yaml", Array("\(text)  - [\n".utf8))

        let list = try await ChildProgram(
            program, ["list"] + options, environment: surroundings
        ).finish()

        #expect(ran.status == 0, "\(ran.errors)")
        #expect(list.status == 0 && list.output.contains("backup"), "\(list.errors)")
    }

    @Test func `a loop ends when its state directory is moved away`() async throws {
        let playground = try await playground(Self.jobFile())
        let loop = try playground.start(["loop"])
        repeat {} while await loop.readErrorLine()?.hasSuffix("(run 3)") == false

        try #require(rename(playground.statePath, "\(playground.folder.path)/elsewhere") == 0)
        let end = await loop.finish()

        #expect(end.status == 69)
        #expect(
            end.errors.contains("clarity-jobs: the state directory has been moved or removed: "),
            "\(end.errors)")
    }
}
