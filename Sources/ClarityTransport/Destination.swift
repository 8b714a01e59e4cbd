package import ClarityContract
import CCurl

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
