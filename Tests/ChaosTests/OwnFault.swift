@testable import ProgramTestSupport
import SQLite

/// What the history and a loop say of attempts that broke by no fault of the world: a worker that
/// was ended by a signal, that ended without a word, or whose words are no report. The run is made
/// again and may succeed, so that no exit status tells of it.
enum OwnFault {
    private static let marks = [
        "was ended by signal ", "and reported no outcome", "that is no report: ",
        "and left processes running",
    ]

    /// Whether a line tells of one. SIGKILL is the tests' own.
    static func isTold(in line: String) -> Bool {
        marks.contains { line.contains($0) } && !line.hasSuffix("signal 9")
            && !line.contains("signal 9 ")
    }

    /// Those that a history keeps, by run.
    static func kept(in playground: Playground) throws -> [String] {
        let history = try Connection(
            path: "\(playground.statePath)/history.db", access: .readWrite)
        return try history.all(
            "SELECT 'run ' || run_id || ': ' || reason FROM attempts WHERE reason IS NOT NULL"
        ) { $0.text(0) }.filter(isTold)
    }
}
