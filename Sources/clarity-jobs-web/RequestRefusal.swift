import CMicroHTTPD

/// The requests that are refused before any service sees them: those that a proxy in front may read
/// otherwise than this server (RFC 9112, sections 3.2 and 6.3), or of which it would read a part.
enum RequestRefusal {
    /// The most parameters of a query.
    static let mostParameters = 100

    /// The state of a request whose address is refused. It is no object.
    static var mark: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: 1) }

    /// Closes the connection, because nobody knows where the next request on it begins.
    static let answer = Answer(
        status: 400, text: "this request has no single meaning\n", headers: ["Connection": "close"])

    /// Whether an address, as it was sent, has an encoded U+0000, at which libmicrohttpd's texts end,
    /// or too many parameters.
    static func isCut(_ address: String) -> Bool {
        let bytes = address.utf8
        if address.contains("%00") { return true }
        guard let query = bytes.firstIndex(of: UInt8(ascii: "?")) else { return false }
        return bytes[query...].count { $0 == UInt8(ascii: "&") } >= mostParameters
    }

    /// Whether the headers give two lengths of the body, or two hosts.
    static func hasTwoMeanings(_ connection: OpaquePointer) -> Bool {
        var seen = Seen()
        withUnsafeMutablePointer(to: &seen) { seen in
            _ = MHD_get_connection_values(
                connection, .HEADER_KIND,
                { context, _, name, value in
                    if let context, let name {
                        context.assumingMemoryBound(to: Seen.self).pointee.add(
                            String(cString: name).lowercased(),
                            value.map { String(cString: $0) } ?? "")
                    }
                    return .YES
                }, seen)
        }
        return seen.hosts > 1 || seen.lengths > 1 || seen.isFaulty
    }

    /// What headers say about the place and the length of a request.
    private struct Seen {
        var hosts = 0
        var lengths = 0
        var isFaulty = false

        mutating func add(_ name: String, _ value: String) {
            switch name {
            case "host": hosts += 1
            case "content-length":
                lengths += 1
                isFaulty = isFaulty || !value.utf8.allSatisfy { (0x30...0x39).contains($0) }
            case "transfer-encoding": lengths += 1
            default: break
            }
        }
    }
}
