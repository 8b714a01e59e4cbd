/// Why a text is no address of a PostgreSQL server; `message` completes "`url` ..." and shows no
/// part of the text, which may contain a password.
public struct ServerAddressFault: Error, Hashable, Sendable {
    public var message: String
    public var help: String?

    public init(message: String, help: String? = nil) {
        self.message = message
        self.help = help
    }
}

extension ServerAddress: CustomStringConvertible {
    /// Parses a connection URI (PostgreSQL's documentation, 34.1.1.2), such as
    /// `postgresql://clarity@db.example/clarity`.
    ///
    /// It has a user and a database, and one host: a name, an address, or, as the parameter `host`,
    /// the folder of a Unix socket. Other parameters are `passfile` and `sslrootcert`.
    ///
    /// - Throws: `ServerAddressFault`, also for a password, which never stands in a URI here.
    public init(parsing text: String) throws(ServerAddressFault) {
        guard text.utf8.count <= 2000, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw ServerAddressFault(
                message: "is longer than 2000 characters or has one no url has")
        }
        guard let scheme = ["postgresql://", "postgres://"].first(where: text.hasPrefix) else {
            throw ServerAddressFault(message: "does not start with `postgresql://`")
        }
        let parts = text.dropFirst(scheme.count).split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts[0].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let authority = path[0].split(separator: "@", omittingEmptySubsequences: false)
        guard authority.count == 2, let user = ServerAddress.decoded(authority[0]), !user.isEmpty
        else { throw ServerAddressFault(message: "names no user before an `@`") }
        guard !authority[0].contains(":") else {
            throw ServerAddressFault(
                message: "holds a password",
                help: "put it into a file as `HOST:PORT:DATABASE:USER:PASSWORD`, of mode 0600, and "
                    + "name the file in the parameter `passfile`")
        }
        guard path.count == 2, let database = ServerAddress.decoded(path[1]), !database.isEmpty,
            !path[1].contains("/")
        else { throw ServerAddressFault(message: "names no database after the host") }
        let (host, port) = try ServerAddress.place(authority[1])
        self.init(host: host, port: port, database: database, user: user)
        for parameter in parts.dropFirst().joined().split(separator: "&") {
            let words = parameter.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard ["host", "passfile", "sslrootcert"].contains(words[0]),
                words[0] != "host" || host.isEmpty
            else {
                throw ServerAddressFault(
                    message: "has a parameter that is not allowed",
                    help: "its parameters are `passfile`, `sslrootcert`, and `host` for the folder "
                        + "of a Unix socket")
            }
            guard words.count == 2, let value = ServerAddress.decoded(words[1]),
                value.hasPrefix("/")
            else {
                throw ServerAddressFault(message: "has a parameter that is no absolute path")
            }
            switch words[0] {
            case "host": self.host = value
            case "passfile": passwordFile = value
            default: rootCertificate = value
            }
        }
        guard !self.host.isEmpty else { throw ServerAddressFault(message: "names no host") }
    }

    private static func place(
        _ text: Substring
    ) throws(ServerAddressFault) -> (host: String, port: Int) {
        var (host, rest) = (text.prefix { $0 != ":" }, text.drop { $0 != ":" })
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else {
                throw ServerAddressFault(message: "has a `[` without its `]`")
            }
            (host, rest) = (text[..<end].dropFirst(), text[end...].dropFirst())
        }
        // libpq would try several hosts one after the other, and the first to answer counts.
        guard let name = decoded(host), !name.contains(","), !name.contains("/") else {
            throw ServerAddressFault(message: "names no host, or more than one")
        }
        if rest.isEmpty { return (name, 5432) }
        guard rest.first == ":", let port = UInt16(rest.dropFirst()), port > 0 else {
            throw ServerAddressFault(message: "has a port that is no number from 1 to 65535")
        }
        return (name, Int(port))
    }

    /// The URI, which has no password: the file that has it is named, if there is one.
    public var uri: String {
        let isFolder = host.hasPrefix("/")
        let shown = isFolder ? "" : host.contains(":") ? "[\(host)]" : host
        let files = [
            ("host", isFolder ? host : nil), ("passfile", passwordFile),
            ("sslrootcert", rootCertificate),
        ].compactMap { name, value in
            value.map { "\(name)=\(ServerAddress.encoded($0, besides: "/"))" }
        }
        return
            "postgresql://\(ServerAddress.encoded(user))@\(shown)\(port == 5432 ? "" : ":\(port)")"
            + "/\(ServerAddress.encoded(database))"
            + (files.isEmpty ? "" : "?\(files.joined(separator: "&"))")
    }

    /// The URI for people: with a `/` as it is, and without the files of the password and of
    /// certificates.
    public var description: String {
        var short = self
        (short.passwordFile, short.rootCertificate) = (nil, nil)
        return short.uri.replacing("%2F", with: "/")
    }

    // MARK: Percent-encoding (RFC 3986, 2.1)

    private static func decoded(_ text: Substring) -> String? {
        guard text.contains("%") else { return String(text) }
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2)
            guard digits.count == 2, let value = UInt8(Substring(digits), radix: 16), value >= 0x20
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func encoded(_ text: String, besides kept: String = "") -> String {
        var encoded = ""
        for byte in text.utf8 {
            let character = Character(UnicodeScalar(byte))
            if byte < 0x80,
                character.isLetter || character.isNumber || ("-._~" + kept).contains(character)
            {
                encoded.append(character)
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return encoded
    }
}
