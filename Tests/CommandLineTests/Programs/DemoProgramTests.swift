import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

@Suite("The demo", .timeLimit(.minutes(5)))
struct DemoProgramTests {
    @Test(arguments: [
        [], ["--dialect", "loop"], ["--dialect", "loop", "--quirks", "measured"],
    ])
    func `the demo accounts for every record, and a second demo resends nothing`(
        backend: [String]
    ) async throws {
        let folder = try TemporaryFolder()
        func demo() async throws -> ProgramResult {
            try await ChildProgram.run(
                "\(Playground.root)/scripts/demo", ["--brief"] + backend,
                environment: [
                    "PATH": "/usr/bin:/bin", "DEMO_PORT": "0", "DEMO_FOLDER": folder.path,
                    "DEMO_PROGRAMS": ChildProgram.folder,
                ])
        }

        let first = try await demo()
        let second = try await demo()

        let there = 845
        let account = "845 samples = 845 \(backend.isEmpty ? "confirmed" : "stored")"
        let end = [account, "the backend has \(there) of them, each once"]
        #expect(first.status == 0, "\(first.errors) \(first.output)")
        #expect(
            first.outputLines.dropLast().suffix(4) == [
                "2144 read = 750 queued + 3 known + 22 second halves of a blood pressure "
                    + "+ 1235 of days, nights and workouts + 7 repeated + 127 kept here + 0 refused",
                "95 days, nights and workouts = 95 queued + 0 known",
            ] + end)
        #expect(second.status == 0, "\(second.errors) \(second.output)")
        // An unchanged export is not imported again.
        #expect(second.outputLines.dropLast().suffix(3) == ["== where everything is"] + end)
        let last = try #require(second.outputLines.last)
        #expect(last.hasPrefix("open the pages: HOME=") && last.hasSuffix("/clarity-jobs serve"))
        // The same command reads the demo's data in a shell that has none of its settings.
        let copied = last.dropFirst("open the pages: ".count).dropLast("serve".count)
        let read = try await ChildProgram.run(
            "/bin/sh", ["-c", copied + "metrics -o csv"], environment: ["PATH": "/usr/bin:/bin"])
        #expect(read.status == 0, "\(read.errors)")
        #expect(read.output.contains("\r\nactivity,"), "\(read.output)")
    }

    @Test func `the demo runs in a checkout that its owner's group may write`() async throws {
        let folder = try TemporaryFolder()
        for name in ["scripts", "Examples"] {
            try #require(mkdir("\(folder.path)/\(name)", 0o700) == 0)
        }
        for name in ["scripts/demo", "jobs.yaml", "Examples/export.zip"] {
            try folder.write(name, try TemporaryFolder.read("\(Playground.root)/\(name)"))
            // As with `umask 002`.
            try #require(chmod("\(folder.path)/\(name)", 0o775) == 0)
        }
        try #require(chmod(folder.path, 0o775) == 0)

        let result = try await ChildProgram.run(
            "\(folder.path)/scripts/demo", ["--brief"],
            environment: [
                "PATH": "/usr/bin:/bin", "DEMO_PORT": "0", "DEMO_PROGRAMS": ChildProgram.folder,
            ])

        #expect(result.status == 0, "\(result.errors) \(result.output)")
    }

    @Test func `an unknown argument is refused before anything is created`() async throws {
        let folder = try TemporaryFolder()

        let result = try await ChildProgram.run(
            "\(Playground.root)/scripts/demo", ["--fast"],
            environment: ["PATH": "/usr/bin:/bin", "DEMO_FOLDER": folder.path])

        #expect(result.status == 64)
        #expect(result.errors == "demo: unknown argument: --fast\n")
        #expect(try folder.contents().isEmpty)
    }
}
