import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// What `run --due` remembers of a look that found nothing, and what makes it look again, through the
/// built program.
@Suite("A quiet spell", .timeLimit(.minutes(3)))
struct QuietSpellProgramTests {
    private static let accounts = 120

    /// Jobs that were all planned, and have nothing to do for a while.
    private func playground(
        _ settings: String = "", _ more: String = "", accounts: Int = 0
    ) async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil) { _, folder in
            """
            version: 1
            \(settings.replacing("FOLDER", with: folder))
            jobs:
              - id: note
                kind: command
                schedule: { every: 30d }
                options: { command: ["true"] }
            \(more.replacing("FOLDER", with: folder))

            """
        }
        if accounts > 0 {
            try #require(mkdir("\(playground.folder.path)/accounts.d", 0o755) == 0)
        }
        for number in 0..<accounts {
            try playground.folder.write("accounts.d/w\(number).yaml", Array("enabled: true\n".utf8))
        }
        let first = try await playground.run("run", "--due")
        try #require([0, 75].contains(first.status), "\(first.errors)")
        return playground
    }

    /// Sets how many hours the programs' wall clock is ahead; returns the environment for it.
    private func clock(of playground: Playground, hoursAhead: Int64) throws -> [String: String] {
        let milliseconds = hoursAhead * 3_600_000
        try playground.folder.write(
            "clock",
            [milliseconds, 0].flatMap { number in
                (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
            })
        return ["FAULTLINE_CLOCK": "\(playground.folder.path)/clock"]
    }

    private func isLeft(_ playground: Playground) -> Bool {
        access("\(playground.statePath)/quiet", F_OK) == 0
    }

    /// Runs what is due until a spell is left, which is not while a file has only just changed.
    private func leaveSpell(_ playground: Playground) async throws {
        unlink("\(playground.statePath)/quiet")
        repeat { _ = try await opens(playground) } while !isLeft(playground)
        try #require(try await !looks(playground))
    }

    /// Runs what is due, and returns how many files below `folder` the program opened.
    private func opens(
        _ playground: Playground, below folder: String? = nil,
        _ environment: [String: String] = [:], program: String? = nil
    ) async throws -> Int {
        let counts = Faultline(counts: "\(playground.folder.path)/counts")
        counts.reset()
        let surroundings = counts.environment(folder: folder).merging(environment) { $1 }
        let end = try await playground.start(
            ["run", "--due"], environment: surroundings, program: program
        ).finish()
        #expect(end.status == 0 && end.errors == "", "\(end.errors)")
        return try counts.count(of: .open, program: .scheduler)
    }

    /// Whether a `run --due` looks at more than the spell.
    private func looks(
        _ playground: Playground, _ environment: [String: String] = [:], program: String? = nil
    ) async throws -> Bool {
        try await opens(
            playground, below: playground.statePath, environment, program: program) > 1
    }

    @Test func `after a look that found nothing, neither history nor accounts are read`()
        async throws
    {
        let playground = try await playground("accounts: accounts.d", accounts: Self.accounts)

        try await leaveSpell(playground)
        let later = [try await opens(playground), try await opens(playground)]
        unlink("\(playground.statePath)/quiet")
        let whole = try await opens(playground)

        #expect(whole > Self.accounts)
        #expect(later.allSatisfy { $0 < 30 }, "\(later) files, \(whole) without the spell")
    }

    @Test func `a change of an account or a request for a run ends a quiet spell`() async throws {
        let playground = try await playground("accounts: accounts.d", accounts: Self.accounts)
        try await leaveSpell(playground)

        // Another account, a changed one, and one that is gone.
        try playground.folder.write("accounts.d/new.yaml", Array("enabled: true\n".utf8))
        let added = try await playground.run("run", "--due")
        let listed = try await playground.run("list", "-o", "json")
        let jobs = try JSONValue(listed.output).elements
        let new = try #require(jobs.first { $0["job"].text == "new/note" })
        #expect(added.status == 0 && jobs.count == Self.accounts + 1)
        #expect(new["next"].text != nil)
        try await leaveSpell(playground)
        try playground.folder.write("accounts.d/w7.yaml", Array("enabled: perhaps\n".utf8))
        let faulty = try await playground.run("run", "--due")
        #expect(faulty.status == 65 && faulty.errors.contains("w7.yaml:1:10"), "\(faulty.errors)")
        try #require(unlink("\(playground.folder.path)/accounts.d/w7.yaml") == 0)
        try await leaveSpell(playground)

        // A run that somebody asks for.
        let asked = try await playground.run("run", "w9/note", "--ask")
        let done = try await playground.run("run", "--due")
        let history = try await playground.history("w9/note")
        #expect(asked.status == 0 && done.status == 0, "\(done.errors)")
        #expect(history.map(\.state) == ["succeeded"], "\(history)")
    }

    @Test func `a request, a pause and an edit of the job file end a quiet spell`() async throws {
        let playground = try await playground()

        try await leaveSpell(playground)
        let asked = try await playground.run("run", "note", "--ask")
        let done = try await playground.run("run", "--due")
        let history = try await playground.history("note")
        #expect(asked.status == 0 && done.status == 0, "\(done.errors)")
        #expect(history.map(\.state) == ["succeeded", "succeeded"], "\(history)")

        for command in ["pause", "resume"] {
            try await leaveSpell(playground)
            try #require(try await playground.run(command, "note").status == 0)
            #expect(try await looks(playground), "\(command)")
        }

        try await leaveSpell(playground)
        let jobFile = try TemporaryFolder.read(playground.jobFilePath)
        try playground.folder.write(
            "jobs.yaml",
            jobFile + Array("  - { id: new, kind: cleanup, schedule: { every: 30d } }\n".utf8))
        let edited = try await playground.run("run", "--due")
        #expect(edited.status == 0, "\(edited.errors)")
        #expect(try await playground.history("new").map(\.state) == ["succeeded"])
    }

    @Test func `what a loop did, and a replaced history, end a quiet spell`() async throws {
        let playground = try await playground()

        try await leaveSpell(playground)
        let loop = try playground.start(["loop"])
        try #require(try await playground.run("run", "note", "--ask").status == 0)
        var states: [String] = []
        repeat {
            states = try await playground.history("note").map(\.state)
        } while states != ["succeeded", "succeeded"]
        loop.signal(SIGTERM)
        _ = await loop.finish()
        #expect(try await looks(playground))

        try await leaveSpell(playground)
        let history = "\(playground.statePath)/history.db"
        try playground.folder.write("state/copy.db", try TemporaryFolder.read(history))
        try #require(rename("\(playground.statePath)/copy.db", history) == 0)
        #expect(try await looks(playground))
    }

    @Test func `a clock that was set, a time zone and another program end a quiet spell`()
        async throws
    {
        let playground = try await playground()
        func looks(hoursAhead: Int64) async throws -> Bool {
            try await self.looks(playground, clock(of: playground, hoursAhead: hoursAhead))
        }

        try await leaveSpell(playground)
        #expect(try await !looks(hoursAhead: 0))
        #expect(try await looks(hoursAhead: -1))
        try await leaveSpell(playground)
        #expect(try await looks(hoursAhead: 1))

        for (name, value) in [
            ("TZ", "Asia/Tokyo"), ("TZDIR", "/usr/share/zoneinfo/"), ("HOME", "/"),
        ] {
            try await leaveSpell(playground)
            #expect(try await self.looks(playground, [name: value]), "\(name)")
        }

        try await leaveSpell(playground)
        let program = "\(playground.folder.path)/clarity-jobs"
        try playground.folder.write(
            "clarity-jobs", try TemporaryFolder.read("\(ChildProgram.folder)/clarity-jobs"))
        try #require(chmod(program, 0o700) == 0)
        #expect(try await self.looks(playground, program: program))
    }

    @Test func `a source that changes ends a quiet spell, and starts its job`() async throws {
        let playground = try await playground(
            """
            sources:
              - { kind: apple-health-export, path: FOLDER/export.xml }
              - { kind: spool, path: FOLDER/spool }
            """,
            "  - { id: told, kind: command, on: [source-changed], options: { command: [\"true\"] } }"
        )
        try #require(mkdir("\(playground.folder.path)/spool", 0o700) == 0)

        for (number, name) in ["export.xml", "export.xml", "spool/a.json", "spool/a.json"]
            .enumerated()
        {
            try await leaveSpell(playground)
            try playground.folder.write(name, Array("{\"number\": \(number)}".utf8))
            let end = try await playground.run("run", "--due")
            #expect(end.status == 0, "\(end.errors)")
            #expect(try await playground.history("told").count == number + 1, "\(name) \(number)")
        }
    }

    @Test func `a job file that names the state directory has quiet spells too`() async throws {
        let playground = try await playground("store:\n  directory: FOLDER/state")
        let unnamed = ["CLARITY_JOBS_STATE": ""]

        repeat { _ = try await looks(playground, unnamed) } while !isLeft(playground)

        #expect(try await !looks(playground, unnamed))
        // Nothing says that a state directory which the job file does not name is quiet.
        #expect(try await looks(playground))
    }

    @Test func `there is no spell while a window of flex is open`() async throws {
        let playground = try await playground(
            "",
            """
              - id: eager
                kind: command
                schedule: { every: 30d, flex: 10d }
                constraints: { storage_free: { FOLDER/disk: 1MiB } }
                options: { command: ["true"] }
            """)
        let disk = "\(playground.folder.path)/disk"
        try #require(mkdir(disk, 0o700) == 0)
        let clock = try clock(of: playground, hoursAhead: 0)
        try await leaveSpell(playground)
        #expect(try await playground.history("eager").map(\.state) == ["succeeded"])

        // The window opens ten days before the occurrence, and there is no disk.
        try #require(rmdir(disk) == 0)
        _ = try self.clock(of: playground, hoursAhead: 25 * 24)
        for _ in 0..<2 { #expect(try await looks(playground, clock)) }
        try #require(mkdir(disk, 0o700) == 0)
        #expect(try await looks(playground, clock))
        #expect(try await playground.history("eager").count == 2)
    }

    @Test func `there is no spell while a run waits`() async throws {
        let playground = try await playground(
            "",
            """
              - id: big
                kind: command
                constraints: { storage_free: 1000TiB }
                options: { command: ["true"] }
            """)
        try await leaveSpell(playground)

        try #require(try await playground.run("run", "big", "--ask").status == 0)
        unlink("\(playground.statePath)/quiet")

        for _ in 0..<3 {
            let waiting = try await playground.run("run", "--due")
            #expect(waiting.status == 75 && !isLeft(playground), "\(waiting.output)")
        }
    }

    @Test func `a file of metrics is written each time`() async throws {
        let playground = try await playground("metrics_textfile: FOLDER/metrics.prom")
        // Files that have only just changed leave no spell either.
        for _ in 0..<5 { #expect(try await looks(playground)) }
        #expect(!isLeft(playground))
    }
}
