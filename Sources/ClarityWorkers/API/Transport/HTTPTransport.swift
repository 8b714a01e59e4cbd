/// Sends one request and brings back its answer, whatever its status.
public protocol HTTPTransport: Sendable {
    /// Sends `request` once and reads the whole answer; redirects are answers like any other.
    ///
    /// - Throws: `TransportError` when there is no complete answer, `.cancelled` when the task was
    ///   cancelled before it came.
    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse

    /// Where a task that sends one request after the other does so at the least cost; `nil` where it
    /// makes no difference.
    var executor: (any TaskExecutor)? { get }
}

extension HTTPTransport {
    public var executor: (any TaskExecutor)? { nil }
}

/// A complete answer.
///
/// Printed or dumped it shows its status and size only.
public struct HTTPResponse: Hashable, Sendable {
    /// The status, 200 to 599.
    public var status: Int
    /// The fields by lower-case name; of a field that came twice, the last.
    public var headers: [String: String]
    public var body: [UInt8]

    /// Creates an answer; the names of `headers` must be lower-case.
    public init(status: Int, headers: [String: String] = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

extension HTTPResponse: CustomStringConvertible, CustomReflectable {
    public var description: String { "status \(status), body of \(body.count) bytes" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
