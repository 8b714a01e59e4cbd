import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// `scripts/setup` on a machine that has Swift, the C libraries and nothing else, and that allows
/// no installation.
@Suite("The setup", .timeLimit(.minutes(5)))
struct SetupTests {
    private func setUp(_ arguments: [String]) async throws -> ProgramResult {
        let folder = try TemporaryFolder()
        let stubs = ["swift": "echo Swift version 6.3", "pkg-config": "exit 0", "id": "echo 1000"]
        for (name, command) in stubs {
            chmod(try folder.write(name, Array("#!/bin/sh\n\(command)\n".utf8)), 0o755)
        }
        for tool in ["sed", "head", "mktemp", "rm"] {
            symlink("/usr/bin/\(tool)", "\(folder.path)/\(tool)")
        }
        return try await ChildProgram.run(
            "/bin/sh", ["\(Playground.root)/scripts/setup"] + arguments,
            environment: ["PATH": folder.path])
    }

    @Test func `setup checks the tools of the tests only when asked to`() async throws {
        let plain = try await setUp([])
        let forTests = try await setUp(["test"])

        #expect(plain.status == 0 && plain.output == "" && plain.errors == "", "\(plain)")
        #expect(forTests.status == 0 && forTests.errors == "", "\(forTests)")
        #expect(forTests.output.hasPrefix("skipped: checks that need dbus-daemon"), "\(forTests)")
    }
}
