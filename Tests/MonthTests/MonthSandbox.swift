import ClarityTestSupport
import JSON
import Testing

/// A running `clarity-jobs-sandbox` whose clock the test sets. It ends with its owner.
final class MonthSandbox: Sendable {
    /// The base URL of its API.
    let url: String
    private let port: UInt16
    private let program: ChildProgram

    init(data: String, options: [String]) async throws {
        program = try ChildProgram(
            "\(ChildProgram.folder)/clarity-jobs-sandbox",
            ["--listen", "127.0.0.1:0", "--data", data, "--exit-with-stdin"] + options,
            environment: [:])
        let ready = try #require(await program.readLine(), "the sandbox did not start")
        url = try #require(ready.split(separator: " ").last.map(String.init))
        let digits = url.dropFirst("http://127.0.0.1:".count).prefix { $0 != "/" }
        port = try #require(UInt16(digits))
    }

    /// Sends a request that is not part of the contract.
    @discardableResult
    func ask(_ method: String, _ path: String, body: String = "") async throws -> JSON {
        let text = try await LoopbackRequest.send(
            method, "/_sandbox/\(path)", body: body, port: port)
        let answer = try JSONParser.parse(Array(text.utf8))
        // The answer to a failed request is a problem with a title.
        try #require(answer["title"] == nil, "\(method) \(path): \(answer.line)")
        return answer
    }

    /// Returns one of the sandbox's own counts.
    func count(_ name: String) async throws -> Int64 {
        guard case .integer(let count)? = try await ask("GET", "summary")[name] else {
            Issue.record("the summary has no count `\(name)`")
            return -1
        }
        return count
    }
}
