import ClarityTestSupport
import JSON

@testable import clarity_jobs_sandbox

/// The sandbox's service without its server, for tests that inspect an answer before it is sent.
/// Only one thread may use it at a time.
final class StandInBackend {
    /// The parts of an answer.
    struct Answer: Sendable {
        var status: Int
        var headers: [(name: String, value: String)]
        var body: [UInt8]
    }

    static let dialects = ["blueprint", "loop"]

    private let folder: TemporaryFolder
    private let service: Service

    init(_ dialect: String) throws {
        folder = try TemporaryFolder(isInMemory: true)
        var settings = Service.Settings()
        settings.passwordIterations = 1
        settings.processingSteps = 1
        settings.dialect = dialect == "loop" ? .loop : .blueprint
        service = try Service(
            store: try Store(directory: folder.path), settings: settings,
            routes: settings.dialect.makeRoutes())
    }

    /// Returns the right answer to a request. `target` is the path with the query.
    func answer(
        _ method: String, _ target: String, headers: [String: String], body: [UInt8]
    ) -> Answer {
        let parts = target.split(separator: "?", maxSplits: 1).map(String.init)
        var request = Request(method: method, path: parts.first ?? "/")
        for pair in parts.dropFirst().first?.split(separator: "&") ?? [] {
            let sides = pair.split(separator: "=", maxSplits: 1).map(String.init)
            request.query[sides[0]] = sides.count > 1 ? sides[1] : ""
        }
        request.authorization = headers["authorization"]
        request.contentType = headers["content-type"]
        request.announcedLength = body.count
        request.body = body
        switch service.reply(to: request).delivery {
        case .whole(let response), .half(let response):
            return Answer(
                status: response.status, headers: response.headers.map { ($0.name, $0.value) },
                body: response.body)
        case .reset, .never: return Answer(status: 503, headers: [], body: [])
        }
    }
}
