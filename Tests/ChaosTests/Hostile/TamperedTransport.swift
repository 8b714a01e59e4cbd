import Synchronization
import Testing

@testable import Backend
@testable import BackendContract

/// A transport to a backend in this process that can tamper with the answers to one call.
final class TamperedTransport: HTTPTransport {
    private let dialect: String
    /// The backend, locked while it answers a request.
    private let backend: Mutex<StandInBackend>
    private let tamper = Mutex<(call: APICall, change: @Sendable ([UInt8]) -> HTTPResponse)?>(nil)
    private let seen = Mutex<[APICall: [UInt8]]>([:])

    init(_ dialect: String) throws {
        self.dialect = dialect
        backend = Mutex(try StandInBackend(dialect))
    }

    /// The last successful answer to each call, before any tampering.
    var rightAnswers: [APICall: [UInt8]] { seen.withLock { $0 } }

    /// Replaces all further answers to a call with the results of `change`.
    func tamper(_ call: APICall, _ change: @escaping @Sendable ([UInt8]) -> HTTPResponse) {
        tamper.withLock { $0 = (call, change) }
    }

    func clear() { tamper.withLock { $0 = nil } }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        var headers: [String: String] = [:]
        for header in request.headers { headers[header.name.lowercased()] = header.text }
        let target = request.url.drop { $0 != ":" }.dropFirst(3).drop { $0 != "/" }
        let right = backend.withLock { backend in
            backend.answer(
                request.method.rawValue, String(target), headers: headers,
                body: request.body ?? [])
        }
        guard let call = request.call else {
            return HTTPResponse(status: right.status, body: right.body)
        }
        if (200..<300).contains(right.status) { seen.withLock { $0[call] = right.body } }
        if let tamper = tamper.withLock({ $0 }), tamper.call == call {
            return tamper.change(right.body)
        }
        var fields: [String: String] = [:]
        for header in right.headers { fields[header.name.lowercased()] = header.value }
        return HTTPResponse(status: right.status, headers: fields, body: right.body)
    }
}
