import Synchronization

@testable import Backend
@testable import BackendContract
@testable import ClarityJobs

/// Answers requests with a function, and records them.
final class ScriptedBackend: HTTPTransport {
    typealias Answer = @Sendable (HTTPRequest) throws(TransportError) -> HTTPResponse

    private let answer: Answer
    private let gate: RequestGate?
    private let log = Mutex<[HTTPRequest]>([])

    /// - Parameter gate: lets requests pass in groups; without one, each is answered at once.
    init(gate: RequestGate? = nil, _ answer: @escaping Answer) {
        self.answer = answer
        self.gate = gate
    }

    var requests: [HTTPRequest] { log.withLock { $0 } }

    /// The method of each request and its path below the base URL.
    var calls: [String] {
        requests.map { "\($0.method.rawValue) \($0.path)" }
    }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        log.withLock { $0.append(request) }
        await gate?.pass()
        defer { gate?.leave() }
        return try answer(request)
    }
}

/// Lets the first request pass, and then some groups: each request waits until its group is there.
final class RequestGate: Sendable {
    private struct State {
        var present = 0
        var most = 0
        var releases = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let group: Int
    private let groups: Int
    private let state = Mutex(State())

    /// - Parameter times: how many groups there are; later requests pass alone.
    init(group: Int, times: Int = .max) {
        self.group = group
        groups = times
    }

    /// The most requests that were there at the same time.
    var most: Int { state.withLock { $0.most } }

    func pass() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                resume { state in
                    state.present += 1
                    state.most = max(state.most, state.present)
                    state.waiting.append(continuation)
                    return state.releases == 0 || state.releases > groups
                        || state.waiting.count == group || Task.isCancelled
                }
            }
        } onCancel: {
            // The test's time is over: it must end.
            resume { _ in true }
        }
    }

    private func resume(_ isComplete: (inout State) -> Bool) {
        let released = state.withLock { state in
            guard isComplete(&state) else { return [CheckedContinuation<Void, Never>]() }
            state.releases += 1
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in released { continuation.resume() }
    }

    func leave() { state.withLock { $0.present -= 1 } }
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
