import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import ClarityHost

extension ProcessEnd: CustomTestStringConvertible {
    var testDescription: String {
        [
            "\(exit)", outcome.map(\.testDescription), fault.map { "\($0)" },
            leftProcesses ? "left processes" : nil,
        ].compactMap(\.self).joined(separator: ", ")
    }
}

@Suite struct ProcessEndTests {
    static let failure = Failure(.disk, "disk is full")
    static let again = Outcome.retry(after: nil, failure)

    @Test(
        arguments: [
            (0x0000, ProcessEnd.Exit.status(0)), (0x0300, .status(3)), (0xFF00, .status(255)),
            (0x0009, .signal(9)), (0x008B, .signal(11)),
        ] as [(Int32, ProcessEnd.Exit)])
    func `a wait status is an exit status or a signal`(_ status: Int32, _ exit: ProcessEnd.Exit) {
        #expect(ProcessEnd.Exit(waitStatus: status) == exit)
    }

    @Test(arguments: [
        (ProcessEnd(exit: .status(0), outcome: .success), AttemptEnd.Result.reported(.success)),
        (ProcessEnd(exit: .status(0)), .broke(.exitedWithoutReport(status: 0))),
        (ProcessEnd(exit: .status(3)), .broke(.exitedWithoutReport(status: 3))),
        (
            ProcessEnd(exit: .status(3), outcome: .success),
            .broke(.exitedWithoutReport(status: 3))
        ),
        (ProcessEnd(exit: .signal(11), outcome: .success), .broke(.killedBySignal(11))),
        (ProcessEnd(exit: .signal(9)), .broke(.killedBySignal(9))),
        (ProcessEnd(exit: .status(3), outcome: again), .reported(again)),
        (
            ProcessEnd(exit: .status(3), outcome: .awaits(.externalPower, failure)),
            .reported(.awaits(.externalPower, failure))
        ),
        (ProcessEnd(exit: .signal(6), outcome: .failure(failure)), .reported(.failure(failure))),
        (
            ProcessEnd(exit: .status(0), outcome: .success, leftProcesses: true),
            .broke(.leftProcessesBehind)
        ),
        (ProcessEnd(exit: .signal(11), leftProcesses: true), .broke(.killedBySignal(11))),
        (
            ProcessEnd(exit: .signal(9), outcome: again, fault: .malformedReport("line 1")),
            .broke(.malformedReport("line 1"))
        ),
    ])
    func `a result is what is certain`(_ end: ProcessEnd, _ result: AttemptEnd.Result) {
        #expect(end.result == result)
    }
}
