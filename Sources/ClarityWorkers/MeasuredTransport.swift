public import ClarityTransport
public import ClarityContract
import Synchronization

/// Sends through another transport, and counts the bytes of all request bodies, retries included.
public final class MeasuredTransport: HTTPTransport {
    private let transport: any HTTPTransport
    private let bytes = Atomic<Int64>(0)

    /// Creates a transport that measures `transport`.
    public init(_ transport: any HTTPTransport) { self.transport = transport }

    /// The bytes of all bodies so far. Streams do not count; no upload of samples uses one.
    public var bodyBytes: Int64 { bytes.load(ordering: .relaxed) }

    public var executor: (any TaskExecutor)? { transport.executor }

    public func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        bytes.add(Int64(request.body?.count ?? 0), ordering: .relaxed)
        return try await transport.send(request)
    }
}
