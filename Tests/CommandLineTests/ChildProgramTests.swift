import ClarityTestSupport
import Testing

@Suite("A program that a test starts", .timeLimit(.minutes(1)))
struct ChildProgramTests {
    @Test func `cancelling a wait for a program ends the program`() async throws {
        let silent = try ChildProgram("/bin/sleep", ["1000"], environment: [:])
        let endless = try ChildProgram("/bin/sleep", ["1000"], environment: [:])

        let line = Task { await silent.readErrorLine() }
        let result = Task { await endless.finish() }
        line.cancel()
        result.cancel()

        #expect(await line.value == nil)
        #expect(await result.value.status == 128 + 9)
    }
}
