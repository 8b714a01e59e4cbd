public import BackendContract
public import HealthModel
@preconcurrency import Glibc

/// One header field of a request.
public struct HTTPHeader: Hashable, Sendable {
    /// A field's text, marked as secret or not.
    public enum Value: Hashable, Sendable {
        case plain(String)
        case secret(Secret)
    }

    public var name: String
    public var value: Value

    /// Creates a field; the transport checks whether it may be sent.
    public init(_ name: String, _ value: Value) {
        self.name = name
        self.value = value
    }

    /// The text for the wire.
    package var text: String {
        switch value {
        case .plain(let text): text
        case .secret(let secret): secret.reveal()
        }
    }
}

extension HTTPHeader: CustomStringConvertible {
    /// `Accept: application/json`, or `Authorization: <redacted>`.
    public var description: String {
        switch value {
        case .plain(let text): "\(name): \(text)"
        case .secret: "\(name): <redacted>"
        }
    }
}

/// A request as it goes over the wire.
///
/// Descriptions and dumps show no secret and no body: a body holds health values or a password.
public struct HTTPRequest: Hashable, Sendable {
    public var method: HTTPMethod
    /// The absolute URL, percent-encoded.
    public var url: String
    /// The fields in the order in which they are sent.
    public var headers: [HTTPHeader]
    public var body: [UInt8]?
    /// A body that is read while it is sent, in place of `body`.
    public var stream: RequestBody?
    /// Whether a second arrival could do harm. Such a request gets a connection of its own: if a
    /// reused connection breaks, libcurl sends the request again by itself, even one that the
    /// server has read.
    public var isOnce = false
    /// Whether it may go over http to another machine, because its user said so.
    public var allowsPlainHTTP = false
    /// The call that is made, which decides how the answer is read; not sent.
    public var call: APICall?

    /// Creates a request; nothing is checked before it is sent.
    public init(
        _ method: HTTPMethod, _ url: String, headers: [HTTPHeader] = [], body: [UInt8]? = nil,
        stream: RequestBody? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.stream = stream
    }

    /// The host and port of the URL, without a user and a password.
    package var host: String {
        let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
        let authority = rest.prefix { !"/?#".contains($0) }
        return String(authority.split(separator: "@", omittingEmptySubsequences: false).last ?? "")
    }

    /// Returns the request with `token` as its bearer token, in place of any earlier one.
    package func authorized(by token: Secret) -> HTTPRequest {
        var request = self
        request.headers.removeAll { $0.name == "Authorization" }
        request.headers.insert(
            HTTPHeader("Authorization", .secret(Secret("Bearer \(token.reveal())"))), at: 0)
        return request
    }
}

extension HTTPRequest: CustomStringConvertible, CustomReflectable {
    /// The request line, the fields, and the size of the body, one per line.
    public var description: String {
        var lines = ["\(method.rawValue) \(url)"] + headers.map(\.description)
        if let size = stream?.count ?? body?.count { lines.append("(body of \(size) bytes)") }
        return lines.joined(separator: "\n")
    }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A body of known length that is read piece by piece while it is sent.
///
/// Two bodies are equal if they are the same object. Pieces are read by their offset, so a request
/// whose kept connection turns out to be dead can be sent again from the start.
public final class RequestBody: Hashable, Sendable {
    /// Fills part of the buffer with the bytes from `offset` on and returns how many; 0 at the end.
    /// Called on the transport's only thread, so it must not wait for anything slower than a disk.
    public typealias Read =
        @Sendable (_ offset: Int, _ buffer: UnsafeMutableRawBufferPointer) throws -> Int

    /// The number of bytes.
    public let count: Int
    let read: Read

    /// Creates a body of `count` bytes, 0 or more.
    public init(count: Int, read: @escaping Read) {
        self.count = count
        self.read = read
    }

    /// Returns a body with the bytes of a file as it is now. A file that becomes shorter while it
    /// is sent ends the request with `TransportError.bodyUnreadable`.
    ///
    /// - Throws: `TransportError.bodyUnreadable` if `path` is not a readable regular file.
    public static func file(_ path: String) throws(TransportError) -> RequestBody {
        let file = BodyFile(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK))
        var status = stat()
        guard file.descriptor >= 0, fstat(file.descriptor, &status) == 0,
            status.st_mode & S_IFMT == S_IFREG
        else { throw .bodyUnreadable }
        return RequestBody(count: Int(status.st_size)) { offset, buffer in
            while true {
                let count = pread(file.descriptor, buffer.baseAddress, buffer.count, off_t(offset))
                if count >= 0 { return count }
                guard errno == EINTR else { throw TransportError.bodyUnreadable }
            }
        }
    }

    public static func == (one: RequestBody, other: RequestBody) -> Bool { one === other }

    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// A descriptor that is closed with its last user.
private final class BodyFile: Sendable {
    let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { if descriptor >= 0 { close(descriptor) } }
}

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
