import ClarityTestSupport
import Glibc
import Database
import Testing

// Helpers that several suites of the built programs share.
extension Playground {
    /// The root folder of the repository.
    static let root = String(
        #filePath.prefix(upTo: #filePath.firstRange(of: "/Tests/")?.lowerBound ?? "".endIndex))
    /// The folder of the shipped examples.
    static let examples = "\(root)/Examples"

    /// Returns a playground whose backend has processed an upload by the first status request.
    static func quick(
        jobFile: ((_ url: String, _ folder: String) -> String)? = nil
    ) async throws -> Playground {
        try await Playground(sandboxOptions: ["--processing-steps", "1"], jobFile: jobFile)
    }

    /// Runs a command with JSON output, and parses the output.
    func json(status: Int32 = 0, _ arguments: String...) async throws -> JSONValue {
        let result = try await start(arguments + ["--output", "json"]).finish()
        #expect(result.status == status, "\(result.errors)")
        return try JSONValue(result.output)
    }

    /// Writes a shipped example, or the beginning of it, to the path of the export.
    func useExample(_ name: String, bytes: Int = .max) throws {
        let content = try TemporaryFolder.read("\(Playground.examples)/\(name)")
        try folder.write("export.xml", content.prefix(bytes))
    }

    /// Changes the history behind the program's back.
    func change(_ sql: String) throws {
        try FileConnection(path: "\(statePath)/history.db", access: .readWrite).execute(sql)
    }

    /// Returns every row of the outbox in a fixed order, with the values that distinguish it from
    /// other rows under the same key.
    func outboxRows() throws -> [String] {
        let health = try FileConnection(path: "\(statePath)/health.db", access: .readWrite)
        return try health.all(
            """
            SELECT kind || ' ' || start_s || ' ' || end_s || ' ' || hex(tag) || ' ' || state
                || ' ' || length(sealed)
            FROM \(health.outboxTable()) ORDER BY kind, start_s, end_s, tag
            """
        ) { $0.text(0) }
    }

    /// Returns the last run of a job, as `history` shows it.
    func lastRun(of job: String) async throws -> JSONValue {
        try #require(try await json("history", job, "-n", "1").elements.first)
    }
}

extension ProgramResult {
    /// Returns whether the program ended with this status, printed exactly these lines to standard
    /// error, and nothing else.
    func isRefusal(_ status: Int32, _ lines: String...) -> Bool {
        self.status == status && errorLines == lines && output.isEmpty
    }
}

/// Returns whether a text is an instant as JSON shows it: `2026-11-20T12:00:00Z`, with or without
/// milliseconds.
func isInstant(_ text: String?) -> Bool {
    text?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z/) != nil
}
