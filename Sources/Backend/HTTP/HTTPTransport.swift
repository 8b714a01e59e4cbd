/// Sends one request and returns its answer, whatever the status.
public protocol HTTPTransport: Sendable {
    /// Sends `request` once and reads the whole answer; a redirect is an answer like any other.
    ///
    /// - Throws: `TransportError` if there is no complete answer; `.cancelled` if the task was
    ///   cancelled before it came.
    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse

    /// The executor on which a task that sends one request after another runs at the least cost;
    /// `nil` if it makes no difference.
    var executor: (any TaskExecutor)? { get }
}

extension HTTPTransport {
    public var executor: (any TaskExecutor)? { nil }
}

/// A complete answer.
///
/// Descriptions and dumps show only its status and size.
public struct HTTPResponse: Hashable, Sendable {
    /// The status, 200 to 599.
    public var status: Int
    /// The fields by lower-case name; if a field came more than once, the last one.
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
