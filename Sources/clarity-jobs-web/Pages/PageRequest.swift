import HTTPServing
import ClarityHost
import JSON
@preconcurrency import Glibc

/// What the pages' server takes from the head of a request.
struct PageRequest {
    /// `GET` for HEAD too: libmicrohttpd sends no body then.
    let method: String
    let isHead: Bool
    let path: String
    let query: [(name: String, value: String)]
    let host: String?
    let origin: String?
    /// Where a browser says that the request comes from, such as `same-origin`.
    let site: String?
    let csrf: String?
    let type: String?
    let length: Int64?
    /// The token of the session's cookie.
    let token: String?

    /// - Parameter cookie: the name of the session's cookie.
    init(_ head: RequestHead, cookie: String) {
        isHead = head.method == "HEAD"
        method = isHead ? "GET" : head.method
        path = head.path
        query = head.query
        host = head["Host"]
        origin = head["Origin"]
        site = head["Sec-Fetch-Site"]
        csrf = head["X-CSRF-Token"]
        type = head["Content-Type"].map { type in
            type.prefix { $0 != ";" && $0 != " " }.lowercased()
        }
        length = head["Content-Length"].flatMap { Int64($0) }
        token = PageRequest.cookie(cookie, in: head["Cookie"])
    }

    private static func cookie(_ name: String, in header: String?) -> String? {
        let pairs = header?.split(separator: ";") ?? []
        for pair in pairs {
            let parts = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
            if parts.count == 2, parts[0] == name { return String(parts[1]) }
        }
        return nil
    }
}

/// A request whose body the server needs.
final class BodyExchange: Exchange {
    /// The most bytes of a body.
    static let most = 64 << 10

    private var body: [UInt8] = []
    private var isTooLarge = false
    private let handle: ([UInt8]?) -> Outcome

    /// - Parameter handle: gets the whole body; `nil` if it is too large.
    init(_ handle: @escaping ([UInt8]?) -> Outcome) {
        self.handle = handle
        super.init(discarding: 1 << 20) { Answer(status: 500) }
    }

    override func refusal(ofLength bytes: Int64) -> Answer? {
        guard bytes > BodyExchange.most, case .answer(let answer) = handle(nil) else { return nil }
        return answer
    }

    override func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if body.count + bytes.count > BodyExchange.most { isTooLarge = true }
        guard isTooLarge else {
            body += bytes
            return true
        }
        body = []
        // What is left of the body is read, because a client that is still writing would not see
        // the answer.
        return super.take(bytes)
    }

    override func outcome() -> Outcome { handle(isTooLarge ? nil : body) }
}

extension Answer {
    /// Creates an answer with a JSON document.
    init(_ status: UInt32, json: [UInt8], headers: Answer.Headers = [:]) {
        self.init(
            status: status, type: "application/json", content: .bytes(json), headers: headers)
    }

    /// Creates an answer with a JSON object.
    init(_ status: UInt32, _ object: JSON, headers: Answer.Headers = [:]) {
        self.init(status, json: Array(object.page.utf8), headers: headers)
    }

    /// The headers that no page of the server is without.
    static let security: Headers = [
        "Content-Security-Policy":
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
            + "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
            + "require-trusted-types-for 'script'",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    ]

    /// The answer with these headers.
    var secured: Answer {
        var answer = self
        answer.headers = headers.adding(Answer.security)
        return answer
    }
}

/// The names under which browsers may ask for the pages.
///
/// A web site can make its own name point to this machine, and its scripts could then read the
/// answers as their own (DNS rebinding). The browser still sends that name, so it is refused.
struct PageHosts {
    /// Each name with its port, as in a `Host` header.
    private let names: Set<String>
    /// The port for addresses of IPv4, which no web site can have as its name; `nil` on loopback.
    private let addressPort: UInt16?
    private let scheme: String
    /// The origin behind a proxy.
    private let outer: String?

    /// - Parameter outer: the origin under which a proxy serves the pages, such as
    ///   `https://health.example`.
    init(_ address: ListenAddress, isEncrypted: Bool, outer: String?) {
        let usual: UInt16 = isEncrypted ? 443 : 80
        scheme = isEncrypted ? "https" : "http"
        var bare = ["localhost", "127.0.0.1", "[::1]"]
        if !address.isLoopback {
            let own = HostIdentity.name.lowercased()
            bare += [own, "\(own).local"]
        }
        var names = Set(bare.map { "\($0):\(address.port)" })
        if address.port == usual { names.formUnion(bare) }
        if let outer { names.insert(String(outer.dropFirst("https://".count))) }
        self.names = names
        self.outer = outer
        addressPort = address.isLoopback ? nil : address.port
    }

    /// Creates the names of `serve --lan`: exactly the addresses that it listens on, and the machine's
    /// names.
    init(_ names: LocalNames, port: UInt16) {
        scheme = "https"
        self.names = Set(
            names.all.map { "\($0):\(port)" } + (port == 443 ? names.all : []))
        outer = nil
        addressPort = nil
    }

    /// Whether requests for this host are answered.
    func accepts(host: String?) -> Bool {
        guard let host = host?.lowercased() else { return false }
        if names.contains(host) { return true }
        guard let addressPort, let address = ListenAddress(host) else { return false }
        return address.port == addressPort && host == "\(address.hostText):\(address.port)"
    }

    /// Whether a page of this origin may make the request that has `host`.
    func accepts(origin: String, host: String) -> Bool {
        let origin = origin.lowercased()
        return origin == outer || origin == "\(scheme)://\(host.lowercased())"
    }

    /// Returns the origin that `--behind` names; `nil` unless it is `https://NAME[:PORT]`.
    static func outer(_ text: String) -> String? {
        let text = text.lowercased()
        guard text.hasPrefix("https://") else { return nil }
        var name = text.dropFirst("https://".count)
        if name.hasSuffix("/") { name = name.dropLast() }
        let parts = name.split(separator: ":", omittingEmptySubsequences: false)
        let isName = parts[0].utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x61...0x7A: true
            default: "-.".utf8.contains(byte)
            }
        }
        guard isName, !parts[0].isEmpty, parts.count <= 2,
            parts.count == 1 || UInt16(parts[1]) != nil
        else { return nil }
        return "https://\(name)"
    }
}
