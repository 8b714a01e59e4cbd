import Synchronization

/// Sends by another transport, and tells how many bytes of bodies went out, those of every try.
public final class MeasuredTransport: HTTPTransport {
    private let transport: any HTTPTransport
    private let bytes = Atomic<Int64>(0)

    /// Measures what goes by `transport`.
    public init(_ transport: any HTTPTransport) { self.transport = transport }

    /// The bytes of all bodies so far; a stream, which no upload of samples is, does not count.
    public var bodyBytes: Int64 { bytes.load(ordering: .relaxed) }

    public var executor: (any TaskExecutor)? { transport.executor }

    public func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        bytes.add(Int64(request.body?.count ?? 0), ordering: .relaxed)
        return try await transport.send(request)
    }
}
