import ClarityJobs
import Synchronization

@testable import ClarityWorkers

/// A transport that answers from a function and keeps what it was asked.
final class FakeTransport: HTTPTransport {
    typealias Answer = Result<HTTPResponse, TransportError>

    private let sent = Mutex<[HTTPRequest]>([])
    private let answer: @Sendable (HTTPRequest, Int) async -> Answer

    /// Answers by request and its number, from 0.
    init(_ answer: @escaping @Sendable (HTTPRequest, Int) async -> Answer) {
        self.answer = answer
    }

    /// Plays `script`, whose last answer is repeated for ever.
    convenience init(_ script: Answer...) {
        self.init { _, number in script[min(number, script.count - 1)] }
    }

    var requests: [HTTPRequest] { sent.withLock { $0 } }

    /// What was asked, such as `POST /auth/refresh`, below the base URL.
    var calls: [String] {
        requests.map { "\($0.method.rawValue) \($0.url.replacing(testBase, with: ""))" }
    }

    var bodies: [String] { requests.map { String(decoding: $0.body ?? [], as: UTF8.self) } }

    /// The tokens that came with the requests.
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

/// A store in memory.
final class MemorySessions: SessionStore {
    private let session: Mutex<Session?>
    private let failure: (any Error)?
    /// What another process saves while this one asks so many times in vain for the right to.
    private let rival: Mutex<(session: Session, refusals: Int)?> = Mutex(nil)

    init(_ session: Session? = nil, failure: (any Error)? = nil) {
        self.session = Mutex(session)
        self.failure = failure
    }

    var kept: Session? { session.withLock { $0 } }

    func load() throws -> Session? {
        if let failure { throw failure }
        return kept
    }

    func save(_ session: Session) throws {
        if let failure { throw failure }
        self.session.withLock { $0 = session }
    }

    func clear() throws {
        if let failure { throw failure }
        session.withLock { $0 = nil }
    }

    func lock() throws -> (any AnyObject & Sendable)? {
        if let failure { throw failure }
        let renewed: Session? = rival.withLock { rival in
            guard let (session, refusals) = rival else { return nil }
            rival = refusals > 1 ? (session, refusals - 1) : nil
            return session
        }
        guard let renewed else { return Right() }
        try save(renewed)
        return nil
    }

    /// Lets another process renew the session to `session`, for as long as `refusals` questions.
    func letAnother(renewTo session: Session, refusals: Int) {
        rival.withLock { $0 = (session, refusals) }
    }

    private final class Right: Sendable {}
}

let testBase = "https://backend.example/api/v1"

extension FakeTransport.Answer {
    static func status(
        _ status: Int, _ body: String = "{}", headers: [String: String] = [:]
    ) -> FakeTransport.Answer {
        .success(HTTPResponse(status: status, headers: headers, body: Array(body.utf8)))
    }
}
