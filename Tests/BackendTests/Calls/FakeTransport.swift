import Synchronization

@testable import Backend
@testable import BackendContract

/// A transport that answers with a function and records the requests.
final class FakeTransport: HTTPTransport {
    typealias Answer = Result<HTTPResponse, TransportError>

    private let sent = Mutex<[HTTPRequest]>([])
    private let answer: @Sendable (HTTPRequest, Int) async -> Answer

    /// Answers each request by a function of the request and its number, from 0.
    init(_ answer: @escaping @Sendable (HTTPRequest, Int) async -> Answer) {
        self.answer = answer
    }

    /// Plays `script`, and repeats its last answer for ever.
    convenience init(_ script: Answer...) {
        self.init { _, number in script[min(number, script.count - 1)] }
    }

    var requests: [HTTPRequest] { sent.withLock { $0 } }

    /// The requests, such as `POST /auth/refresh`, with paths below the base URL.
    var calls: [String] {
        requests.map { "\($0.method.rawValue) \($0.url.replacing(testBase, with: ""))" }
    }

    var bodies: [String] { requests.map { String(decoding: $0.body ?? [], as: UTF8.self) } }

    /// The Authorization header of each request.
    var bearers: [String?] {
        requests.map { $0.headers.first { $0.name == "Authorization" }?.text }
    }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        let number = sent.withLock {
            $0.append(request)
            return $0.count - 1
        }
        return try await answer(request, number).get()
    }
}

let testBase = "https://backend.example/api/v1"

extension FakeTransport.Answer {
    static func status(
        _ status: Int, _ body: String = "{}", headers: [String: String] = [:]
    ) -> FakeTransport.Answer {
        .success(HTTPResponse(status: status, headers: headers, body: Array(body.utf8)))
    }
}
