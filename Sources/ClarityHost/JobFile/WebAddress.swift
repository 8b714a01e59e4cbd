import ClarityScheduler
import Platform
import Database

extension ValueSchema where Value == String {
    /// Reads the path of a file or folder; `~/` and relative paths become absolute.
    static var path: ValueSchema {
        .scalar(.path) { text, node, path, decoding in
            guard !text.isEmpty, !text.unicodeScalars.contains(where: { $0.value < 0x20 }) else {
                return decoding.fault(node.position, "\(path.key) \(shown(text)) is not a path")
            }
            let context = decoding.context
            if text.hasPrefix("/") { return text }
            if text == "~" { return context.home }
            if text.hasPrefix("~/") { return join(context.home, text.dropFirst(2)) }
            guard !text.hasPrefix("~") else {
                return decoding.fault(
                    node.position,
                    "\(path.key) \(shown(text)) starts with another user's home folder",
                    help: "write the whole path; only `~/` is understood")
            }
            return join(context.folder, text[...])
        }
    }

    /// Reads an https address, or an http address on this machine.
    static var url: ValueSchema {
        .secret(.url) { text throws(TextFault) in
            try WebAddress.parse(text).requireSecure()
            return text
        }
    }

    /// Reads an mqtts or mqtt address, or one that `url` reads. Whether a password may go over mqtt
    /// depends on the broker's address, which only the worker looks up.
    static func endpoint(allowsPlainHTTP: Bool = false) -> ValueSchema {
        .secret(.endpoint) { text throws(TextFault) in
            let address = try WebAddress.parse(text, allowsMQTT: true)
            if !address.isMQTT, !allowsPlainHTTP { try address.requireSecure() }
            return text
        }
    }

    /// Reads an http or https URL to any host: it receives no secrets.
    static var webAddress: ValueSchema {
        .secret(.webAddress) { text throws(TextFault) in
            guard text.utf8.count <= 2000 else {
                throw TextFault("has more than 2000 characters, the most of a url")
            }
            _ = try WebAddress.parse(text, allowsQuery: true)
            return text
        }
    }
}

extension ValueSchema {
    /// Reads a scalar whose text no message shows: it may contain a password.
    fileprivate static func secret(
        _ description: ValueDescription,
        read: @escaping @Sendable (String) throws(TextFault) -> Value
    ) -> ValueSchema {
        .scalar(description) { text, node, path, decoding in
            do throws(TextFault) {
                return try read(text)
            } catch {
                return decoding.fault(
                    node.position, "\(path.key) \(error.reason)", help: error.help)
            }
        }
    }
}

extension ValueSchema where Value == ServerAddress {
    /// Reads the URI of a PostgreSQL server.
    static var serverAddress: ValueSchema {
        .secret(.serverAddress) { text throws(TextFault) in
            let server: ServerAddress
            do throws(ServerAddressFault) {
                server = try ServerAddress(parsing: text)
            } catch {
                throw TextFault(error.message, help: error.help)
            }
            let (bytes, most) = (server.user.utf8.count, ServerAddress.longestUser)
            guard bytes <= most else {
                throw TextFault(
                    "names a user of \(bytes) bytes, wanted at most \(most)",
                    help: "the roles of accounts have its name and more; PostgreSQL cuts names "
                        + "after \(ServerAddress.longestName) bytes")
            }
            return server
        }
    }
}

extension ServerAddress {
    /// The most bytes of a name; PostgreSQL cuts a longer one (its manual, 4.1.1), so that two would
    /// be one.
    static let longestName = 63
    /// The most bytes in the name of the user: the role `USER_accounts` has 9 more.
    static let longestUser = longestName - 9

    /// Returns the length of the name of an account's role, `USER/ACCOUNT`, if it would be cut.
    func roleBytes(cutOf account: AccountID) -> Int? {
        let bytes = user.utf8.count + 1 + account.rawValue.utf8.count
        return bytes > ServerAddress.longestName ? bytes : nil
    }
}

/// Joins a folder and a relative path.
func join(_ folder: String, _ path: Substring) -> String {
    var path = path
    while path.hasPrefix("./") { path = path.dropFirst(2) }
    return folder.hasSuffix("/") ? folder + path : "\(folder)/\(path)"
}

/// The parts of an http address that decide whether it may be used.
struct WebAddress: Hashable, Sendable {
    var isSecure: Bool
    var isMQTT = false
    /// The host in lower case; an IPv6 address in brackets.
    var host: String

    /// Whether the host is this machine regardless of DNS: `localhost`, 127.0.0.0/8 in four
    /// numbers, or `[::1]`.
    var isLoopback: Bool {
        if host == "localhost" || host == "[::1]" { return true }
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4 && numbers[0] == "127"
            && numbers.allSatisfy { number in
                // Refuse leading zeros: some resolvers read `0177` as octal.
                UInt8(number).map { String($0) } == String(number)
            }
    }

    /// Throws for plain http to another machine.
    func requireSecure() throws(TextFault) {
        guard isSecure || isLoopback else {
            throw TextFault(
                "leads to \(shown(host)) over http, where anybody on the way can read it",
                help: "use https; http is for `localhost`, `127.0.0.1` and `[::1]` only")
        }
    }

    /// Parses an address strictly, as RFC 3986 defines it.
    ///
    /// - Parameters:
    ///   - allowsQuery: whether it may end in a query (`?`).
    ///   - allowsMQTT: whether it may be that of an MQTT broker.
    static func parse(
        _ text: String, allowsQuery: Bool = false, allowsMQTT: Bool = false
    ) throws(TextFault) -> WebAddress {
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !forbidden.contains($0) })
        else { throw TextFault("holds a character that no url has") }
        let lowered = text.lowercased()
        let schemes = ["https", "http"] + (allowsMQTT ? ["mqtts", "mqtt"] : [])
        guard let scheme = schemes.first(where: { lowered.hasPrefix("\($0)://") }) else {
            throw TextFault(
                "does not start with `https://`" + (allowsMQTT ? " or `mqtts://`" : ""))
        }
        let rest = text.dropFirst(scheme.count + 3)
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard !authority.contains("@") else {
            throw TextFault(
                "holds a user name or password", help: "secrets never stand in a job file")
        }
        guard !allowsQuery || !rest.contains("#") else {
            throw TextFault("has a fragment (`#`), wanted none")
        }
        guard allowsQuery || !rest.contains("#") && !rest.contains("?") else {
            throw TextFault("has a query (`?`) or fragment (`#`), wanted none")
        }
        let port: Substring
        let host: Substring
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else {
                throw TextFault("has a `[` without its `]`")
            }
            host = authority[...end]
            port = authority[end...].dropFirst()
        } else {
            host = authority.prefix { $0 != ":" }
            port = authority.dropFirst(host.count)
        }
        guard !host.isEmpty, host != "[]" else {
            throw TextFault("names no host")
        }
        if !port.isEmpty {
            let digits = port.dropFirst()
            guard port.first == ":", digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let number = UInt16(digits), number > 0
            else {
                throw TextFault("has a port that is no number from 1 to 65535")
            }
        }
        return WebAddress(
            isSecure: scheme.hasSuffix("s"), isMQTT: scheme.hasPrefix("mqtt"),
            host: host.lowercased())
    }

    /// The characters that URL parsers disagree about.
    private static let forbidden = Set("\\\"<>^`{|}".utf8)
}
