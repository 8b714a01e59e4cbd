import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

@Suite("Where results go", .timeLimit(.minutes(5)))
struct OutputProgramTests {
    @Test(arguments: [
        (
            ">/dev/full", 74,
            "clarity-jobs: cannot write to standard output: no space left on device\n"
        ),
        ("| true", 0, ""), (">&-", 0, ""), (">&- 2>&-", 0, ""), ("<&- >/dev/null", 0, ""),
    ])
    func `a lost result is a failure, and a closed pipe is not`(
        redirection: String, status: Int32, errors: String
    ) async throws {
        let playground = try await Playground(sandboxOptions: nil)

        // The status of the first part of a pipe goes to a file, because a shell does not report
        // it.
        let result = try await ChildProgram.run(
            "/bin/sh",
            ["-c", "{ \"$0\" list; echo $? >&9; } 9>\"$1\" \(redirection)"]
                + ["\(ChildProgram.folder)/clarity-jobs", "\(playground.folder.path)/status"],
            environment: [
                "CLARITY_JOBS_CONFIG": playground.jobFilePath,
                "CLARITY_JOBS_STATE": playground.statePath,
            ])

        let text = try TemporaryFolder.read("\(playground.folder.path)/status")
        #expect(String(decoding: text, as: UTF8.self) == "\(status)\n")
        #expect(result.errors == errors)
    }
}
