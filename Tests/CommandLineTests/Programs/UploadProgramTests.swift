import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

@Suite("The programs together", .timeLimit(.minutes(5)))
struct UploadProgramTests {
    @Test func `a second run resends nothing`() async throws {
        let playground = try await Playground()
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 250)
        try await playground.logIn()

        let first = try await playground.run("run", "upload")
        let uploads = try await sandbox.count("uploads")
        let second = try await playground.run("run", "upload")

        #expect(first.status == 0, "\(first.errors)")
        #expect(second.status == 0, "\(second.errors)")
        #expect(try await sandbox.count("metrics") == 250)
        #expect(try await sandbox.count("uploads") == uploads)
    }
}
