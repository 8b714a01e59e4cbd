import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// A running `clarity-jobs serve`, and a browser's session with it.
final class PagesProgram: Sendable {
    /// An answer of the server.
    struct Answer {
        var status: Int
        /// The headers by their names in lower case.
        var headers: [String: String]
        var text: String

        /// The text as JSON.
        var json: JSONValue { get throws { try JSONValue(text) } }

        /// The answer's error, if it has one.
        var error: String? { get throws { try json["error"].text } }
    }

    let program: ChildProgram
    let port: UInt16
    private let playground: Playground

    /// Starts the server of a playground.
    init(
        _ playground: Playground, _ options: [String] = [], environment: [String: String] = [:]
    ) async throws {
        self.playground = playground
        program = try playground.start(
            ["serve", "--listen", "127.0.0.1:0"] + options, environment: environment)
        let line = try #require(await program.readErrorLine())
        let start = try #require(line.firstRange(of: "://127.0.0.1:"), "\(line)").upperBound
        port = try #require(UInt16(line[start...].prefix { $0.isNumber }))
    }

    /// The memory that the server has in use.
    var residentKibibytes: Int { get throws { try status("VmRSS") } }

    /// The server's threads.
    var threads: Int { get throws { try status("Threads") } }

    private func status(_ name: String) throws -> Int {
        let path = "/proc/\(program.processID)/status"
        let text = String(decoding: try TemporaryFolder.read(path), as: UTF8.self)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("\(name):") })
        return try #require(Int(line.filter(\.isNumber)))
    }

    /// Sends a request as a browser with this cookie would.
    func send(
        _ method: String = "GET", _ path: String, cookie: String? = nil, host: String? = nil,
        headers: [String: String] = [:], body: String = ""
    ) async throws -> Answer {
        let own = cookie.map { ["Cookie": $0] } ?? [:]
        let text = try await LoopbackRequest.answer(
            method, path, host: host ?? "127.0.0.1:\(port)", headers: own.merging(headers) { $1 },
            body: body, port: port)
        return try #require(Answer(text), "no answer: \(text)")
    }

    /// Returns the path of a new link, which works with every server of the state directory.
    func link(as account: String? = nil) async throws -> String {
        let made = try await playground.start(
            ["serve", "link"] + (account.map { ["--account", $0] } ?? [])
        ).finish()
        try #require(made.status == 0, "\(made.errors)")
        let link = try #require(made.outputLines.first)
        let start = try #require(link.firstRange(of: "/enter?"), "\(link)")
        return String(link[start.lowerBound...])
    }

    /// Logs in by a new link, and returns the cookie as a browser sends it.
    func enter(as account: String? = nil) async throws -> String {
        let answer = try await send("GET", try await link(as: account))
        try #require(answer.status == 303, "\(answer)")
        return try #require(answer.cookie)
    }

    /// Does an action with the token of the session, and returns its answer.
    func act(
        _ name: String, _ body: String, cookie: String, headers: [String: String] = [:]
    ) async throws -> Answer {
        let session = try await send("GET", "/api/v1/session", cookie: cookie).json
        let token = try #require(session["csrf"].text)
        return try await send(
            "POST", "/api/v1/actions/\(name)", cookie: cookie,
            headers: ["Content-Type": "application/json", "X-CSRF-Token": token]
                .merging(headers) { $1 }, body: body)
    }
}

extension PagesProgram.Answer {
    /// Parses a whole answer; `nil` if there is none.
    init?(_ text: String) {
        guard let status = Int(text.dropFirst("HTTP/1.1 ".count).prefix(3)),
            let end = text.firstRange(of: "\r\n\r\n")
        else { return nil }
        let lines = text[..<end.lowerBound].split(separator: "\r\n").dropFirst()
        var headers: [String: String] = [:]
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 {
                headers[parts[0].lowercased()] = String(parts[1].drop { $0 == " " })
            }
        }
        self.init(status: status, headers: headers, text: String(text[end.upperBound...]))
    }

    /// The cookie that the answer sets, without its attributes.
    var cookie: String? {
        headers["set-cookie"].map { String($0.prefix { $0 != ";" }) }
    }
}
