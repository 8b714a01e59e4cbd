import Glibc
import JSON
import Testing

@testable import clarity_jobs_sandbox

/// The table in docs/backend.md of what was measured on the deployed backend, sent row by row to the
/// stand-in over loopback.
@Suite struct DeployedAnswersTests {
    @Test func `the table has both builds of the backend`() throws {
        let rows = try DeployedAnswer.table()

        #expect(Set(rows.map(\.quirks)) == ["measured", "repaired"])
        #expect(rows.count >= 40)
        #expect(Set(rows.map(\.testDescription)).count == rows.count)
    }

    @Test(arguments: DeployedAnswer.rows)
    func `the stand-in answers as the table of docs says`(row: DeployedAnswer) throws {
        let trial = try DeployedTrial(row)
        let before = try trial.stored()

        let answer = try trial.answer()

        #expect(answer.status == row.status, "\(answer.text)")
        for word in row.words {
            #expect(answer.text.contains(word.replacing("{id}", with: trial.id)), "\(answer.text)")
        }
        #expect(try trial.stored() - before - trial.storedFirst == row.stored)
    }
}

/// A row of the table.
struct DeployedAnswer: Sendable, CustomTestStringConvertible {
    var quirks: String
    var method: Substring
    var path: Substring
    var situation: String
    var status: Int
    /// What the body must contain.
    var words: [String]
    /// How many samples the backend has more afterwards.
    var stored: Int

    var testDescription: String { "\(quirks): \(method) \(path), \(situation)" }

    /// The rows; one that no stand-in can serve if they cannot be read, so that a test fails.
    static let rows: [DeployedAnswer] = {
        do {
            return try table()
        } catch {
            return [
                DeployedAnswer(
                    quirks: "measured", method: "GET", path: "/", situation: "\(error)", status: 0,
                    words: [], stored: 0)
            ]
        }
    }()

    struct Malformed: Error { var line: String }

    static func table() throws -> [DeployedAnswer] {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        guard let file = fopen("/\(root)/docs/backend.md", "r") else {
            throw Malformed(line: "docs/backend.md: errno \(errno)")
        }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        bytes.removeSubrange(fread(&bytes, 1, bytes.count, file)...)
        var quirks: String?
        var rows: [DeployedAnswer] = []
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            if line.hasPrefix("## ") { quirks = nil }
            if line.hasPrefix("`--quirks ") {
                quirks = String(line.dropFirst("`--quirks ".count).dropLast())
            }
            guard let quirks, line.hasPrefix("| `") else { continue }
            rows.append(try DeployedAnswer(line, quirks))
        }
        return rows
    }

    private init(_ line: Substring, _ quirks: String) throws {
        let cells = line.split(separator: " | ").map { $0.replacing("| ", with: "") }
        guard cells.count == 6 else { throw Malformed(line: String(line)) }
        let request = cells[0].replacing("`", with: "").split(separator: " ")
        let answer = cells[2].split(separator: "`", omittingEmptySubsequences: false)
        guard request.count == 2, let status = Int(answer[0].prefix(3)), let stored = Int(cells[3])
        else { throw Malformed(line: String(line)) }
        self.init(
            quirks: quirks, method: request[0], path: request[1], situation: String(cells[1]),
            status: status,
            words: answer.indices.filter { $0 % 2 == 1 }.map { String(answer[$0]) }, stored: stored)
    }

    private init(
        quirks: String, method: Substring, path: Substring, situation: String, status: Int,
        words: [String], stored: Int
    ) {
        (self.quirks, self.method, self.path) = (quirks, method, path)
        (self.situation, self.status, self.words) = (situation, status, words)
        self.stored = stored
    }
}

/// One row, and a stand-in of its own.
final class DeployedTrial {
    private let row: DeployedAnswer
    private let directory: TemporaryDirectory
    private let program: SandboxProgram
    private let client: RawClient
    private var token: String?
    /// What the path has for `{id}`.
    private(set) var id = "00000000-0000-4000-8000-000000000000"
    /// How many samples the stand-in got before the request of the row.
    private(set) var storedFirst = 0

    private static let stranger = "stranger@example.com"
    private static let strangersPassword = "Fresh-Passw0rd"

    init(_ row: DeployedAnswer) throws {
        self.row = row
        directory = try TemporaryDirectory()
        if row.situation.contains("not verified") {
            try DeployedTrial.register(in: directory)
        }
        program = try SandboxProgram(
            "--listen", "127.0.0.1:0", "--data", directory.path, "--dialect", "loop", "--quirks",
            row.quirks, "--clock", "2026-11-29T00:00:00Z", "--exit-with-stdin")
        client = try RawClient(port: try program.port())
    }

    deinit {
        program.closeInput()
        _ = program.wait()
    }

    /// Registers the stranger where that is possible; the address stays unverified.
    private static func register(in directory: TemporaryDirectory) throws {
        let open = try SandboxProgram(
            "--listen", "127.0.0.1:0", "--data", directory.path, "--dialect", "loop",
            "--exit-with-stdin")
        let client = try RawClient(port: try open.port())
        let body: JSON = ["email": .string(stranger), "password": .string(strangersPassword)]
        client.send("POST", "/api/v1/auth/register", body.bytes)
        guard client.receiveAnswer().status == 200 else { throw Bench.Unexpected() }
        open.closeInput()
        _ = open.wait()
    }

    /// The samples and metrics that the stand-in has, copies included.
    func stored() throws -> Int {
        let summary = try JSONParser.parse(
            Array(send("GET", "/_sandbox/summary", nil).text.utf8))
        guard case .integer(let samples)? = summary["samples"],
            case .integer(let copies)? = summary["doubled"]
        else { throw Bench.Unexpected() }
        return Int(samples + copies)
    }

    /// Makes the situation of the row, and sends its request.
    func answer() throws -> (status: Int, text: String) {
        if !row.path.hasPrefix("/auth/") || row.path == "/auth/me" { token = try logIn() }
        let body = try prepare()
        let path = row.path.replacing("{id}", with: id)
        return send(String(row.method), "/api/v1\(path)", body, token: token)
    }

    // MARK: Situations

    /// Makes the situation; returns the body of the request.
    private func prepare() throws -> JSON? {
        switch row.situation {
        case "at any time": return nil
        case "a malformed id": id = "x"
        case "an upload that never was":
            if row.path.hasPrefix("/healthkit") {
                id = "\(Seed.user)-\(String(repeating: "0", count: 32))"
            }
        case "another user's upload": id = "another-\(String(repeating: "0", count: 32))"
        case "an upload that it has": try upload()
        case "an upload that was deleted":
            try upload()
            _ = send("DELETE", "/api/v1/health-data/\(id)", nil, token: token)
            storedFirst = 0
        case "an analysis that it has made":
            id = try field("analysis_id", of: post("/pat/analysis", movement))
        case "an insight of the history":
            let page = send("GET", "/api/v1/insights/history/\(Seed.user)", nil, token: token)
            let data = try JSONParser.parse(Array(page.text.utf8))["data"]
            id = try data?["insights"].elements.first?["id"].string ?? ""
        case "the user's own id": id = Seed.user
        case "its data store is down", "its directory of users is down":
            let pattern = row.path.replacing("{id}", with: "*")
            _ = send("POST", "/_sandbox/fault", text: "\(row.method) \(pattern): outage")
        case "the same sample again":
            _ = post("/healthkit", sample)
            storedFirst = 1
        case "one sample", "one metric", "a day of steps", "a day of movement",
            "a metric from before":
            break
        case "another user's sample": return sample.with("user_id", "another")
        case "three metrics of one type": return .upload((1...3).map { .heartRate($0) })
        case "a new name": return ["display_name": "Another Name"]
        default: return try prepareSession()
        }
        return usualBody
    }

    /// Makes a situation of accounts and sessions.
    private func prepareSession() throws -> JSON? {
        let right = login(Seed.email, Seed.password)
        let wrong = login(Seed.email, "Wrong-Passw0rd")
        let unverified = login(DeployedTrial.stranger, DeployedTrial.strangersPassword)
        func repeated(_ count: Int, _ body: JSON) {
            for _ in 0..<count { _ = post("/auth/login", body) }
        }
        switch row.situation {
        case "the right password": return right
        case "a wrong password": return wrong
        case "the right password of an address that is not verified": return unverified
        case "an address that is not verified, the fourth time":
            repeated(3, unverified)
            return unverified
        case "the right password after three wrong ones":
            repeated(3, wrong)
            return right
        case "the right password, 15 minutes after the lock":
            repeated(3, wrong)
            repeated(1, right)
            setClock("2026-11-29T00:15:00Z")
            return right
        case "the right password after two wrong ones, a login and two wrong ones":
            repeated(2, wrong)
            repeated(1, right)
            repeated(2, wrong)
            return right
        case "the eleventh login in a minute":
            repeated(10, right)
            return wrong
        case "the right password, a minute after two wrong ones and three that the limit refused":
            repeated(2, wrong)
            repeated(8, login(DeployedTrial.stranger, "Wrong-Passw0rd"))
            repeated(3, wrong)
            setClock("2026-11-29T00:01:00Z")
            return right
        case "a new address": return unverified
        case "a good refresh token", "an expired refresh token":
            let refresh = try field("refresh_token", of: post("/auth/login", right))
            if row.situation.contains("expired") {
                _ = send("POST", "/_sandbox/expire-tokens", text: "all")
            }
            return ["refresh_token": .string(refresh)]
        case "a session":
            token = try logIn()
            return nil
        case "a known address": return ["email": .string(Seed.email)]
        case "the code of the mail", "a wrong code":
            _ = post("/auth/forgot-password", ["email": .string(Seed.email)])
            let mail = try JSONParser.parse(Array(send("GET", "/_sandbox/mail", nil).text.utf8))
            let code = try mail["mail"].elements.last?["code"].string ?? ""
            return [
                "email": .string(Seed.email), "new_password": "Fresh-Passw0rd",
                "code": .string(row.situation == "a wrong code" ? "no-code" : code),
            ]
        default: throw DeployedAnswer.Malformed(line: "unknown situation `\(row.situation)`")
        }
    }

    /// The body for the path if the situation has no other.
    private var usualBody: JSON? {
        switch (row.method, row.path) {
        case ("POST", "/healthkit"): sample
        case ("POST", "/health-data"): .upload([.heartRate(1)])
        case ("POST", "/pat/step-analysis"): steps
        case ("POST", "/pat/analysis"): movement
        case ("POST", "/auth/login"): login(Seed.email, Seed.password)
        default: nil
        }
    }

    /// Uploads to the endpoint whose upload the row asks about.
    private func upload() throws {
        let isSample = row.path.hasPrefix("/healthkit")
        id = try field(
            isSample ? "upload_id" : "processing_id",
            of: isSample
                ? post("/healthkit", sample) : post("/health-data", .upload([.heartRate(1)])))
        storedFirst = 1
    }

    private var sample: JSON {
        [
            "user_id": .string(Seed.user),
            "quantity_samples": [
                [
                    "identifier": "s1", "type": "steps", "value": 5,
                    "start_date": "2026-11-28T00:00:00Z", "end_date": "2026-11-28T00:01:00Z",
                ]
            ],
        ]
    }

    /// Eight hours of sleep and sixteen of movement.
    private static let counts = (0..<1440).map { (420..<1380).contains($0) ? 40 : 0 }

    private func time(_ minute: Int) -> JSON {
        .time(Timestamp(milliseconds: 1_799_971_200_000) + .seconds(Int64(60 * minute)))
    }

    private var steps: JSON {
        [
            "step_counts": .array(DeployedTrial.counts.map { .count($0) }),
            "timestamps": .array(DeployedTrial.counts.indices.map { time($0) }),
        ]
    }

    private var movement: JSON {
        [
            "data_points": .array(
                DeployedTrial.counts.indices.map {
                    ["timestamp": time($0), "value": .count(DeployedTrial.counts[$0])]
                })
        ]
    }

    // MARK: Requests

    private func login(_ email: String, _ password: String) -> JSON {
        ["email": .string(email), "password": .string(password)]
    }

    private func logIn() throws -> String {
        try field("access_token", of: post("/auth/login", login(Seed.email, Seed.password)))
    }

    private func setClock(_ instant: String) { _ = send("POST", "/_sandbox/clock", text: instant) }

    private func field(_ name: String, of answer: (status: Int, text: String)) throws -> String {
        try JSONParser.parse(Array(answer.text.utf8))[name].string
    }

    private func post(_ path: String, _ body: JSON) -> (status: Int, text: String) {
        send("POST", "/api/v1\(path)", body, token: token)
    }

    private func send(
        _ method: String, _ path: String, text: String
    ) -> (status: Int, text: String) {
        client.send(method, path, Array(text.utf8))
        let answer = client.receiveAnswer()
        return (answer.status, String(decoding: answer.body, as: UTF8.self))
    }

    private func send(
        _ method: String, _ path: String, _ body: JSON?, token: String? = nil
    ) -> (status: Int, text: String) {
        let headers = token.map { ["Authorization: Bearer \($0)"] } ?? []
        client.send(method, path, body?.bytes ?? [], headers: headers)
        let answer = client.receiveAnswer()
        return (answer.status, String(decoding: answer.body, as: UTF8.self))
    }
}
