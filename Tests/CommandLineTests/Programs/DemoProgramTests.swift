import ClarityTestSupport
import Testing

@Suite("The demo", .timeLimit(.minutes(5)))
struct DemoProgramTests {
    @Test(arguments: [
        [], ["--dialect", "loop"], ["--dialect", "loop", "--quirks", "measured"],
    ])
    func `every record is accounted for, and nothing is sent anew by a second demo`(
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

        let end = backend.isEmpty || backend.count == 2 ? "confirmed" : "unconfirmed"
        let account =
            "1792 samples = \(end == "confirmed" ? 1792 : 0) confirmed + 0 accepted"
            + " + \(end == "confirmed" ? 0 : 1792) unconfirmed + 0 rejected + 0 set aside + 0 waiting"
        for (result, queued) in [(first, 1792), (second, 0)] {
            #expect(result.status == 0, "\(result.errors) \(result.output)")
            #expect(
                result.outputLines.suffix(3) == [
                    "2133 read = \(queued) queued + \(1802 - queued) known + 22 second halves of a "
                        + "blood pressure + 309 of other types + 0 refused", account,
                    "the backend has 1792 of them, each once",
                ])
        }
    }

    @Test func `an unknown argument is refused before anything is made`() async throws {
        let folder = try TemporaryFolder()

        let result = try await ChildProgram.run(
            "\(Playground.root)/scripts/demo", ["--fast"],
            environment: ["PATH": "/usr/bin:/bin", "DEMO_FOLDER": folder.path])

        #expect(result.status == 64)
        #expect(result.errors == "demo: unknown argument: --fast\n")
        #expect(try folder.contents().isEmpty)
    }
}
