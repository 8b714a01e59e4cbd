import ClarityTestSupport
import JSON
import Database

@testable import clarity_jobs_sandbox

/// Checks that the sandbox answers every request with an HTTP status, and that its counts add up.
///
/// A text is a request of four parts: the line `METHOD /path?name=value`, the line of the content
/// type, the line of the authorization, and the body. One bit of the first byte selects whether the
/// token of a person who is logged in replaces the authorization.
enum RequestProperties {
    /// The number of requests after which a new service takes over, so that no request has to work
    /// with all the data that was sent.
    private static let life = 512

    static func makeCheck() -> FuzzTarget.Check {
        var benches: [RequestBench] = []
        return { bytes in
            guard let (draw, text) = bytes.drawn else { return }
            if benches.isEmpty || benches[0].asked >= life {
                benches = try RequestBench.dialects.map { try RequestBench($0) }
            }
            try benches[Int(draw) % benches.count].ask(text, withToken: draw & 0x40 == 0)
        }
    }
}

/// A service without a socket, with a person who is logged in.
private final class RequestBench {
    static let dialects: [Dialect] = {
        var measured = Dialect.loop
        measured.quirks = Quirk.measured
        return [.blueprint, .loop, measured]
    }()

    private let folder: TemporaryFolder
    private let service: Service
    private let isMeasured: Bool
    private var token = ""
    private(set) var asked = 0

    init(_ dialect: Dialect) throws {
        folder = try TemporaryFolder(isInMemory: true)
        isMeasured = !dialect.quirks.isEmpty
        var settings = Service.Settings()
        settings.passwordIterations = 1
        settings.dialect = dialect
        let store = try Store(directory: folder.path)
        try store.database.execute("PRAGMA synchronous = OFF")
        service = try Service(
            store: store, settings: settings, routes: dialect.makeRoutes(),
            identifiers: Identifiers(StepGenerator()),
            clock: { Timestamp(milliseconds: 1_794_700_800_000) }, complain: { _ in })
        let login: JSON = ["email": .string(Seed.email), "password": .string(Seed.password)]
        let answer = answer(
            Request(method: "POST", path: "/api/v1/auth/login", body: login.bytes))
        let body = try JSONParser.parse(answer?.body ?? [])
        if case .string(let text)? = (body["tokens"] ?? body)["access_token"] { token = text }
        try require(!token.isEmpty, "nobody could log in")
    }

    func ask(_ text: UnsafeBufferPointer<UInt8>, withToken isLoggedIn: Bool) throws {
        asked += 1
        let request = request(Array(text), isLoggedIn)
        service.faults.clear()
        guard let response = answer(request) else { return }
        let isOurs = request.path.hasPrefix("/_sandbox") || !isMeasured
        try require((200..<600).contains(response.status), "the status \(response.status)")
        // The crashes of the deployed backend are part of what the sandbox imitates.
        try require(response.status != 500 || !isOurs, "status 500")
        let type = response.headers.first { $0.name == "Content-Type" }?.value ?? ""
        if type.hasSuffix("json"), !response.body.isEmpty {
            _ = try JSONParser.parse(response.body)
        }
        for header in response.headers {
            try demandHarmless(header.value, "a header")
            try require(!header.value.contains("\n"), "a header of two lines")
        }
        if asked % 16 == 0 { try checkCounts() }
    }

    /// Checks that the counts of its summary add up.
    private func checkCounts() throws {
        let response = answer(Request(method: "GET", path: "/_sandbox/summary"))
        let summary = try JSONParser.parse(response?.body ?? [])
        func count(_ name: String) -> Int64 {
            if case .integer(let count)? = summary[name] { count } else { -1 }
        }
        var answers: Int64 = 0
        if case .object(let members)? = summary["by_status"] {
            for case .integer(let count) in members.map(\.value) { answers += count }
        }
        try require(count("requests") == answers, "requests are not their answers")
        try require(
            (0...count("metrics")).contains(count("distinct_metric_ids")), "more ids than metrics")
        try require(count("samples") >= count("distinct_metric_ids"), "metrics that are no samples")
        try require(count("doubled") >= 0 && count("uploads") >= 0, "a count below 0")
    }

    /// Returns the answer, or `nil` if none comes.
    private func answer(_ request: Request) -> Response? {
        switch service.reply(to: request).delivery {
        case .whole(let response), .half(let response): response
        case .reset, .never: nil
        }
    }

    private func request(_ text: [UInt8], _ isLoggedIn: Bool) -> Request {
        var lines = text.split(separator: 0x0A, maxSplits: 3, omittingEmptySubsequences: false)
        while lines.count < 4 { lines.append([]) }
        let words = String(decoding: lines[0], as: UTF8.self).split(separator: " ", maxSplits: 1)
        let target = (words.count > 1 ? words[1] : "/").split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var request = Request(
            method: words.first.map(String.init) ?? "GET", path: String(target.first ?? "/"))
        for pair in (target.count > 1 ? target[1] : "").split(separator: "&") {
            let parts = pair.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            request.query[String(parts[0])] = parts.count > 1 ? String(parts[1]) : ""
        }
        let type = String(decoding: lines[1], as: UTF8.self)
        request.contentType = type.isEmpty ? nil : type
        let given = String(decoding: lines[2], as: UTF8.self)
        request.authorization =
            isLoggedIn ? "Bearer \(token)" : given.isEmpty ? nil : given
        request.body = Array(lines[3])
        request.announcedLength = request.body.count
        return request
    }
}

/// A generator that counts, so that identifiers are the same in every run.
private struct StepGenerator: RandomNumberGenerator {
    private var state: UInt64 = 0

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return state ^ (state >> 29)
    }
}
