import Synchronization

@testable import ClarityContract
@testable import ClarityTransport
@testable import ClarityWorkers

/// Answers requests with a function, and records them.
final class ScriptedBackend: HTTPTransport {
    typealias Answer = @Sendable (HTTPRequest) throws(TransportError) -> HTTPResponse

    private let answer: Answer
    private let log = Mutex<[HTTPRequest]>([])

    init(_ answer: @escaping Answer) { self.answer = answer }

    var requests: [HTTPRequest] { log.withLock { $0 } }

    /// The method of each request and its path below the base URL.
    var calls: [String] {
        requests.map { "\($0.method.rawValue) \($0.path)" }
    }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        log.withLock { $0.append(request) }
        return try answer(request)
    }
}

extension HTTPRequest {
    /// The part of the URL after the base URL.
    var path: String { String(url.dropFirst("http://127.0.0.1:9/api/v1".count)) }

    /// The ids of an upload's metrics, in order.
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

/// Handles uploads by the blueprint's contract: stores each metric once.
final class UploadDesk: Sendable {
    private let known = Mutex<[String]>([])

    /// The ids of the stored metrics, in the order of their arrival.
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
