public import BackendContract
public import HealthModel
@preconcurrency import Glibc
import CCurl
import ClarityScheduler

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
    /// Whether a second arrival could do harm. Such a request gets a connection of its own: if a
    /// reused connection breaks, libcurl sends the request again by itself, even one that the
    /// server has read.
    public var isOnce = false
    /// Whether a request that is sent once goes over a kept connection all the same. If that breaks
    /// when a part of the body was sent, the request has failed, and may have arrived.
    public var keepsConnection = false
    /// Whether it may go over http to another machine, because its user said so.
    public var allowsPlainHTTP = false
    /// The call that is made, which decides how the answer is read; not sent.
    public var call: APICall?

    /// Creates a request; nothing is checked before it is sent.
    public init(
        _ method: HTTPMethod, _ url: String, headers: [HTTPHeader] = [], body: [UInt8]? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
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
        if let body { lines.append("(body of \(body.count) bytes)") }
        return lines.joined(separator: "\n")
    }

    public var customMirror: Mirror { Mirror(self, children: []) }
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

/// The destination of a request, and its requirements for the connection.
///
/// libcurl's own parser reads the URL: where two parsers disagree about the end of the host, a
/// token can reach somebody else.
package struct Destination: Hashable, Sendable {
    /// Whether the connection never leaves this machine: `localhost`, 127.0.0.0/8 or `::1`.
    let isLoopback: Bool
    /// Whether the connection uses TLS.
    let isSecure: Bool

    /// Reads an absolute URL.
    ///
    /// - Parameter allowsPlain: whether `http` to another machine is allowed, for requests that
    ///   anybody on the way may read.
    /// - Throws: `TransportError.refused` for a URL that libcurl does not understand, a scheme
    ///   other than `http` and `https`, a user or password in the URL, and `http` to another
    ///   machine unless `allowsPlain`.
    package init(_ url: String, allowsPlain: Bool = false) throws(TransportError) {
        guard let parts = curl_url() else {
            throw .library(code: Int(CURLE_OUT_OF_MEMORY.rawValue))
        }
        defer { curl_url_cleanup(parts) }
        guard !url.utf8.contains(0), curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK else {
            throw .refused("the backend's URL is not an absolute URL")
        }
        let scheme = Destination.part(CURLUPART_SCHEME, of: parts)
        guard scheme == "http" || scheme == "https" else {
            throw .refused("the backend's URL must begin with `https://` or `http://`")
        }
        guard Destination.part(CURLUPART_USER, of: parts) == nil,
            Destination.part(CURLUPART_PASSWORD, of: parts) == nil
        else { throw .refused("the backend's URL must not hold a user or password") }
        isSecure = scheme == "https"
        isLoopback = Destination.isLoopback(Destination.part(CURLUPART_HOST, of: parts) ?? "")
        guard isSecure || isLoopback || allowsPlain else {
            throw .refused("plain http is for this machine only; use `https://`")
        }
    }

    /// Whether `host` is this machine.
    ///
    /// libcurl resolves `localhost` itself, without asking anybody, and has already converted every
    /// spelling of an IPv4 address (`127.1`, `0x7f000001`) to its dotted form.
    private static func isLoopback(_ host: String) -> Bool {
        if host.lowercased() == "localhost" || host == "[::1]" { return true }
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4 && numbers[0] == "127" && numbers.allSatisfy { UInt8($0) != nil }
    }

    private static func part(_ part: CURLUPart, of parts: OpaquePointer) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(parts, part, &text, 0) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }
}

/// The public keys that a server may have, by their digests.
///
/// There are at least two. A server whose only pinned key is lost can no longer be reached, so one
/// pin is of a backup key that is kept elsewhere.
public struct PublicKeyPins: Hashable, Sendable {
    /// In libcurl's form, `sha256//...;sha256//...`.
    let text: String

    /// Checks pins of the form `sha256//` and the base64 of the SHA-256 of a key's
    /// SubjectPublicKeyInfo (RFC 7469, section 2.4; the form of `curl --pinnedpubkey`).
    ///
    /// - Throws: `TransportError.refused` for fewer than two different pins, and for text of
    ///   another form. The message is the same for both and holds no text of a pin.
    public init(_ pins: [String]) throws(TransportError) {
        guard Set(pins).count >= 2, pins.allSatisfy(PublicKeyPins.isPin) else {
            throw .refused(
                "`backend.pins` wants at least two different pins, one of them of a backup key, "
                    + "each `sha256//` and the 44 characters of a digest in base64")
        }
        text = pins.joined(separator: ";")
    }

    /// Whether `text` has the form of a pin. In base64, 32 bytes are 42 characters of 6 bits, one
    /// for the last 4 bits, and `=`.
    private static func isPin(_ text: String) -> Bool {
        let prefix = "sha256//"
        let digest = text.utf8.dropFirst(prefix.utf8.count)
        guard text.hasPrefix(prefix), digest.count == 44, digest.last == UInt8(ascii: "=") else {
            return false
        }
        let letters = digest.dropLast()
        return letters.allSatisfy { alphabet.contains($0) }
            && letters.last.flatMap { alphabet.firstIndex(of: $0) }?.isMultiple(of: 4) == true
    }

    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
}

/// Requests a URL once and returns the status of the answer.
///
/// It follows no redirect, sends no cookie and stores nothing. It reads only the head of the
/// answer: the first byte of a body ends the transfer. To other machines it uses the environment's
/// proxy, to this machine never one. It requires TLS 1.2 or newer, which is enough because it sends
/// nothing secret, and the system's certificate authorities.
public struct URLProbe: ~Copyable {
    /// The longest wait for an answer: 5 min. A caller with less patience ends the process.
    static let patience: Duration = .seconds(300)

    private let multi: CurlMulti
    private let easy: EasyHandle
    private let userAgent: String

    /// Creates a probe whose user agent is `clarity-jobs/<version>`.
    ///
    /// - Throws: `TransportError.library` if libcurl cannot start.
    public init(version: String) throws(TransportError) {
        let multi = try CurlMulti()
        let easy = try EasyHandle()
        self.multi = multi
        self.easy = easy
        userAgent = "clarity-jobs/\(version)"
    }

    /// Returns the status of the answer at an http or https URL, whatever it is. Blocks the calling
    /// thread.
    ///
    /// - Throws: `TransportError` if there is no answer; `.refused` for text that is not such a
    ///   URL, and for a URL with a user or password.
    public func status(of url: String) throws(TransportError) -> Int {
        let destination = try Destination(url, allowsPlain: true)
        let fields = try HeaderList([HTTPHeader("User-Agent", .plain(userAgent))])
        let transfer = CurlTransfer(largestBody: 0)
        try easy.reset()
        try easy.secure(for: destination, floor: Int(CURL_SSLVERSION_TLSv1_2))
        try easy.set(CURLOPT_CONNECTTIMEOUT_MS, Int(URLProbe.patience.milliseconds))
        try easy.set(CURLOPT_TIMEOUT_MS, Int(URLProbe.patience.milliseconds))
        try easy.set(CURLOPT_URL, url)
        try easy.send(fields)
        try easy.receive(into: transfer)
        let code = try multi.run(easy)
        withExtendedLifetime(transfer) {}
        withExtendedLifetime(fields) {}
        // The part of an answer that was not wanted is part of an answer all the same.
        if code == CURLE_OK || code == CURLE_WRITE_ERROR && transfer.excess != nil {
            return try easy.status()
        }
        throw TransportError(easy.verdict(code, transfer))
    }
}
