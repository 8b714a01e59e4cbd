import ClarityHost
import ClarityTestSupport
import Testing

@Suite("A companion process")
struct CompanionProcessTests {
    @Test func `the call returns after the program has ended, whatever its status`() throws {
        let folder = try TemporaryFolder()

        let problem = CompanionProcess.run(
            ["/bin/sh", "-c", "echo nobody reads this; echo \"$A\" > \(folder.path)/out; exit 3"],
            environment: ["A": "given"], within: .seconds(60))

        #expect(problem == nil)
        #expect(try TemporaryFolder.read("\(folder.path)/out") == Array("given\n".utf8))
    }

    @Test func `a program that takes too long is killed with its children`() {
        let problem = CompanionProcess.run(
            ["/bin/sh", "-c", "sleep 1000 & wait"], environment: ["PATH": "/usr/bin:/bin"],
            within: .milliseconds(50))

        #expect(problem == "killed after 50ms")
    }

    @Test func `a program that cannot start is reported`() {
        let problem = CompanionProcess.run(["/none"], environment: [:], within: .seconds(60))

        #expect(problem == "cannot start `/none`: No such file or directory")
    }
}
