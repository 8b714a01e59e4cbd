import Synchronization

@testable import ClarityWorkers

/// Answers requests by a function of the request, and keeps them.
final class ScriptedBackend: HTTPTransport {
    typealias Answer = @Sendable (HTTPRequest) throws(TransportError) -> HTTPResponse

    private let answer: Answer
    private let log = Mutex<[HTTPRequest]>([])

    init(_ answer: @escaping Answer) { self.answer = answer }

    var requests: [HTTPRequest] { log.withLock { $0 } }

    /// Method and path below the base URL of each request.
    var calls: [String] {
        requests.map { "\($0.method.rawValue) \($0.path)" }
    }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        log.withLock { $0.append(request) }
        return try answer(request)
    }
}

extension HTTPRequest {
    /// What follows the base URL.
    var path: String { String(url.dropFirst("http://127.0.0.1:9/api/v1".count)) }

    /// The ids of an upload's metrics, in their order.
    var metricIDs: [String] {
        String(decoding: body ?? [], as: UTF8.self).split(separator: "\"metric_id\":\"").dropFirst()
            .map { String($0.prefix(36)) }
    }
}

extension HTTPResponse {
    static func ok(_ json: String) -> HTTPResponse {
        HTTPResponse(status: 200, body: Array(json.utf8))
    }

    static func status(_ status: Int, _ json: String = "{}") -> HTTPResponse {
        HTTPResponse(status: status, body: Array(json.utf8))
    }
}

/// The uploads of the blueprint's contract: keeps each metric once.
final class UploadDesk: Sendable {
    private let known = Mutex<[String]>([])

    /// Every metric id that was taken, in the order of its coming.
    var metricIDs: [String] { known.withLock { $0 } }

    func take(_ request: HTTPRequest) -> HTTPResponse {
        known.withLock { known in
            let ids = request.metricIDs
            let duplicates = ids.indices.filter { known.contains(ids[$0]) }
            known += ids.filter { !known.contains($0) }
            let errors = duplicates.map {
                """
                {"field":"metrics[\($0)].metric_id","message":"m","code":"duplicate_metric_id"}
                """
            }
            return .status(
                201,
                """
                {"processing_id":"p-\(known.count)","status":"processing",\
                "accepted_metrics":\(ids.count - duplicates.count),\
                "rejected_metrics":\(duplicates.count),\
                "validation_errors":[\(errors.joined(separator: ","))]}
                """)
        }
    }
}
