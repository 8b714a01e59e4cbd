import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// A running `clarity-jobs receive`, and its spool folder.
final class ReceiverProgram: Sendable {
    /// An answer to a push.
    struct Answer: Equatable {
        var status: Int
        var text: String
    }

    static let path = "/health-auto-export"

    let program: ChildProgram
    let port: UInt16

    /// Starts the receiver of a playground.
    init(
        _ playground: Playground, _ options: [String] = [], environment: [String: String] = [:]
    ) async throws {
        program = try playground.start(
            ["receive", "--listen", "127.0.0.1:0"] + options, environment: environment)
        var line = try #require(await program.readErrorLine())
        if line.contains("no token yet") { line = try #require(await program.readErrorLine()) }
        let start = try #require(line.firstRange(of: "://127.0.0.1:"), "\(line)").upperBound
        try #require(line.hasSuffix(Self.path), "\(line)")
        port = try #require(UInt16(line[start...].prefix { $0.isNumber }))
    }

    /// Returns a playground with a folder for pushes and one token, and the token.
    static func playground(_ settings: String = "") async throws -> (Playground, String) {
        let playground = try await Playground.quick { url, folder in
            """
            version: 1
            backend: { url: \(url), retry_wait: 1ms }
            sources:
              - kind: health-auto-export
                path: \(folder)/received
                delete_after_reading: true
                time_zone: UTC
            jobs:
              - { id: upload, kind: bulk-upload, schedule: { every: 30d } }
            \(settings)

            """
        }
        let added = try await playground.run("receive", "token", "add", "phone")
        #expect(added.status == 0, "\(added.errors)")
        return (playground, try #require(added.outputLines.first))
    }

    /// Returns the body of a push with one reading of the heart at a minute of a past day.
    static func push(_ minute: Int) -> String {
        let time = [minute / 60 % 24, minute % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
        return """
            {"data":{"metrics":[{"name":"heart_rate","units":"bpm","data":[
                {"date":"2026-10-\(10 + minute / 1440) \(time[0]):\(time[1]):00 +0000",
                 "Min":61,"Avg":61,"Max":61,"source":"Watch"}]}]}}
            """
    }

    /// Sends a request, and returns its answer.
    func send(
        _ body: String, token: String, method: String = "POST", path: String = ReceiverProgram.path,
        type: String = "application/json", headers: [String: String] = [:]
    ) async throws -> Answer {
        let own = ["Content-Type": type].merging(token.isEmpty ? [:] : ["x-api-key": token]) { $1 }
        let answer = try await LoopbackRequest.answer(
            method, path, headers: own.merging(headers) { $1 }, body: body, port: port)
        return try #require(Answer(answer), "no answer: \(answer)")
    }

    /// Sends a push to a receiver that may be killed meanwhile; returns whether it confirmed it.
    func confirms(_ body: String, token: String) async -> Bool {
        do {
            let answer = try await LoopbackRequest.answer(
                "POST", ReceiverProgram.path,
                headers: ["x-api-key": token, "Content-Type": "application/json"], body: body,
                port: port)
            return Answer(answer)?.status == 200
        } catch {
            return false
        }
    }

    /// Kills the receiver, and returns the rest of its log.
    @discardableResult
    func kill() async -> [String] {
        program.signal(SIGKILL)
        return await program.finish().errorLines
    }
}

extension ReceiverProgram.Answer {
    /// Parses a whole answer; `nil` if there is none.
    init?(_ text: String) {
        guard let status = Int(text.dropFirst("HTTP/1.1 ".count).prefix(3)),
            let end = text.firstRange(of: "\r\n\r\n")
        else { return nil }
        self.init(status: status, text: String(text[end.upperBound...].dropLast()))
    }
}

/// A receiver that is killed and started again, on another port each time.
actor ReceiverKeeper {
    private let playground: Playground
    private var receiver: ReceiverProgram

    init(_ playground: Playground) async throws {
        self.playground = playground
        receiver = try await ReceiverProgram(playground)
    }

    /// Sends a push until it is confirmed, as the app does.
    nonisolated func confirm(_ body: String, token: String) async throws {
        while await !receiver.confirms(body, token: token) {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// Kills the receiver once it has stored this many pushes, starts another one, and returns how
    /// many the killed one stored.
    func kill(after most: Int) async throws -> Int {
        var stored = 0
        while stored < most, let line = await receiver.program.readErrorLine() {
            stored += line.contains("stored a push") ? 1 : 0
        }
        stored += await receiver.kill().count { $0.contains("stored a push") }
        receiver = try await ReceiverProgram(playground)
        return stored
    }
}

extension Playground {
    /// The files that the receiver has stored, by name; those that jobs would not read too.
    func received() throws -> [String: [UInt8]] {
        try folder.contents().filter { $0.key.hasPrefix("received/") }
    }
}
