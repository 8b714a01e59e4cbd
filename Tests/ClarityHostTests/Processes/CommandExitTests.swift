import ClarityScheduler
import Testing

@testable import ClarityHost

@Suite("What the end of a command means") struct CommandExitTests {
    private func result(
        _ exit: ProcessEnd.Exit, lastLine: String? = nil
    ) -> AttemptEnd.Result {
        CommandExit(ProcessEnd(exit: exit)).result(lastLine: lastLine)
    }

    @Test func `status 0 is success, whatever was written`() {
        #expect(result(.status(0), lastLine: "error: none") == .reported(.success))
    }

    @Test(arguments: [
        (Int32(69), Failure.Category.unreachable, "exited with status 69 (unavailable)"),
        (71, .work, "exited with status 71 (system error)"),
        (74, .disk, "exited with status 74 (input or output error)"),
        (75, .work, "exited with status 75 (later)"),
        (1, .work, "exited with status 1"),
        (63, .work, "exited with status 63"),
        (79, .work, "exited with status 79"),
        (125, .work, "exited with status 125"),
        (128, .work, "exited with status 128"),
        (255, .work, "exited with status 255"),
    ])
    func `a status that may be another next time is tried again by the job's own policy`(
        status: Int32, category: Failure.Category, reason: String
    ) {
        #expect(
            result(.status(status))
                == .reported(.retry(after: nil, Failure(category, reason))))
    }

    @Test(arguments: [
        (Int32(64), Failure.Category.configuration, "exited with status 64 (usage)"),
        (65, .work, "exited with status 65 (faulty input)"),
        (66, .configuration, "exited with status 66 (no input)"),
        (67, .configuration, "exited with status 67 (no such user)"),
        (68, .configuration, "exited with status 68 (no such host)"),
        (70, .internalFault, "exited with status 70 (its own fault)"),
        (72, .configuration, "exited with status 72 (system file missing)"),
        (73, .disk, "exited with status 73 (cannot create output)"),
        (76, .unreachable, "exited with status 76 (protocol error)"),
        (77, .credential, "exited with status 77 (permission denied)"),
        (78, .configuration, "exited with status 78 (configuration)"),
        (126, .configuration, "exited with status 126 (cannot be run)"),
        (127, .configuration, "exited with status 127 (not found)"),
    ])
    func `a status that asks for a person fails for good`(
        status: Int32, category: Failure.Category, reason: String
    ) {
        #expect(
            result(.status(status)) == .reported(.failure(Failure(category, reason))))
    }

    @Test func `the reason of a failure ends with the command's last line`() {
        #expect(
            result(.status(65), lastLine: "line 3: no date")
                == .reported(
                    .failure(
                        Failure(.work, "exited with status 65 (faulty input): line 3: no date"))))
    }

    @Test func `a signal, a kill of ours and a process left behind break the attempt`() {
        var killed = ProcessEnd(exit: .signal(9))
        killed.fault = .memoryLimitExceeded(limitBytes: 1, measuredBytes: 2)
        var left = ProcessEnd(exit: .status(0))
        left.leftProcesses = true

        #expect(result(.signal(15), lastLine: "bye") == .broke(.killedBySignal(15)))
        #expect(
            CommandExit(killed).result(lastLine: nil)
                == .broke(.memoryLimitExceeded(limitBytes: 1, measuredBytes: 2)))
        #expect(CommandExit(left).result(lastLine: nil) == .broke(.leftProcessesBehind))
    }

    @Test(
        arguments: [
            ("exited with status 3: a line", "exited with status 3", 3),
            (
                "did not end within its time of 2s, then it exited with status 75 (later): a line: b",
                "did not end within its time of 2s, then it exited with status 75 (later)", 75
            ),
            ("the program is not found in PATH", "the program is not found in PATH", nil),
        ] as [(String, String, Int64?)])
    func `a reason names the exit status, and what the program printed can be left out`(
        reason: String, without: String, status: Int64?
    ) {
        #expect(reason.withoutOutput == without)
        #expect(reason.exitStatus == status)
    }
}
