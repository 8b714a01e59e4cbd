import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
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

    /// libdispatch reports to the journal that it may not raise the priority of a thread. Here it
    /// is told to report to the error output instead.
    @Test func `no library writes where a service is niced and has no privileges`() async throws {
        let playground = try await Playground()
        try await playground.logIn()
        let unprivileged =
            geteuid() == 0 ? ["/usr/bin/setpriv", "--bounding-set=-sys_nice"] : []

        let result = try await ChildProgram.run(
            "/usr/bin/nice",
            ["-n", "5"] + unprivileged + ["\(ChildProgram.folder)/clarity-jobs", "run", "refresh"],
            environment: [
                "CLARITY_JOBS_CONFIG": playground.jobFilePath,
                "CLARITY_JOBS_STATE": playground.statePath, "LIBDISPATCH_LOG": "stderr",
            ])

        #expect(result.status == 0)
        #expect(result.errors == "")
    }
}
