@testable import ProgramTestSupport
import Database

/// Attempts that failed through a fault of the program, as the history and the loop report them.
///
/// The worker was ended by a signal, ended without an outcome, wrote an invalid report or left
/// processes running. The run is retried and may succeed, so no exit status shows the fault.
enum OwnFault {
    private static let marks = [
        "was ended by signal ", "and reported no outcome", "that is no report: ",
        "and left processes running",
    ]

    /// Returns whether a line reports such an attempt. Lines with signal 9 do not count, because
    /// the tests themselves send SIGKILL.
    static func isTold(in line: String) -> Bool {
        marks.contains { line.contains($0) } && !line.hasSuffix("signal 9")
            && !line.contains("signal 9 ")
    }

    /// Returns such attempts from a history, each with its run.
    static func kept(in playground: Playground) throws -> [String] {
        try playground.openHistory().all(
            "SELECT 'run ' || run_id || ': ' || reason FROM attempts WHERE reason IS NOT NULL"
        ) { $0.text(0) }.filter(isTold)
    }
}
