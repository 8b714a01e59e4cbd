import ClarityTestSupport
import Glibc
import SQLite
import Testing

// What several suites of the built programs ask.
extension Playground {
    /// The folder of the sources.
    static let root = String(
        #filePath.prefix(upTo: #filePath.firstRange(of: "/Tests/")?.lowerBound ?? "".endIndex))
    /// The folder of the shipped examples.
    static let examples = "\(root)/Examples"

    /// A playground whose backend has worked an upload off by the first question.
    static func quick(
        jobFile: ((_ url: String, _ folder: String) -> String)? = nil
    ) async throws -> Playground {
        try await Playground(sandboxOptions: ["--processing-steps", "1"], jobFile: jobFile)
    }

    /// Runs a command that writes JSON and reads that.
    func json(status: Int32 = 0, _ arguments: String...) async throws -> JSONValue {
        let result = try await start(arguments + ["--output", "json"]).finish()
        #expect(result.status == status, "\(result.errors)")
        return try JSONValue(result.output)
    }

    /// Puts a shipped example, or the front of it, where the job file looks for the export.
    func useExample(_ name: String, bytes: Int = .max) throws {
        let content = try TemporaryFolder.read("\(Playground.examples)/\(name)")
        try folder.write("export.xml", content.prefix(bytes))
    }

    /// Changes the history behind the program's back.
    func change(_ sql: String) throws {
        try Connection(path: "\(statePath)/history.db", access: .readWrite).execute(sql)
    }

    /// Every row of the outbox in one order, with what tells it from others under the same key.
    func outboxRows() throws -> [String] {
        try Connection(path: "\(statePath)/health.db", access: .readWrite).all(
            """
            SELECT kind || ' ' || start_s || ' ' || end_s || ' ' || hex(tag) || ' ' || state
                || ' ' || length(sealed)
            FROM outbox ORDER BY kind, start_s, end_s, tag
            """
        ) { $0.text(0) }
    }

    /// The last run of a job, as `history` shows it.
    func lastRun(of job: String) async throws -> JSONValue {
        try #require(try await json("history", job, "-n", "1").elements.first)
    }
}

extension ProgramResult {
    /// Whether the program said exactly this: its status and the lines of standard error.
    func isRefusal(_ status: Int32, _ lines: String...) -> Bool {
        self.status == status && errorLines == lines && output.isEmpty
    }
}

/// Whether a text is an instant as JSON shows it: `2026-11-20T12:00:00Z`, maybe with milliseconds.
func isInstant(_ text: String?) -> Bool {
    text?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z/) != nil
}
