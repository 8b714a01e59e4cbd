/// Where a PostgreSQL server is, and as whom to log in there.
public struct ServerAddress: Hashable, Sendable {
    /// A place where a server may listen.
    public struct Host: Hashable, Sendable {
        /// A host's name or address, or the folder of a Unix socket.
        public var name: String
        public var port: Int

        public init(_ name: String, port: Int = 5432) {
            self.name = name
            self.port = port
        }

        var isSocket: Bool { name.hasPrefix("/") }
    }

    /// What a server has to be, of several that may answer (`target_session_attrs`).
    public enum Target: String, Hashable, Sendable, CaseIterable {
        case any
        /// Takes writes: no standby, and not read-only by a setting.
        case readWrite = "read-write"
        /// No standby.
        case primary
    }

    /// A way to ask for a password (`require_auth`).
    public enum Question: String, Hashable, Sendable, CaseIterable {
        /// Neither tells the server the password, nor lets it try many of them at another server.
        case scram = "scram-sha-256"
        case md5
        /// The password as it is.
        case clearText = "password"
    }

    /// Whether the answer to SCRAM is bound to the TLS connection (`channel_binding`).
    public enum Binding: String, Hashable, Sendable, CaseIterable { case disable, prefer, require }

    /// At least one, in the order in which they are tried.
    public var hosts: [Host]
    public var database: String
    public var user: String
    /// `nil` for the default: a server that takes writes if there are several hosts, else any.
    public var target: Target?
    /// The file that has the password, as in `~/.pgpass`; `nil` if none is needed.
    public var passwordFile: String?
    /// The file with the certificates that may have signed the server's; `nil` for the system's.
    public var rootCertificate: String?
    /// How a server may ask for the password; `nil` for SCRAM alone.
    public var questions: Set<Question>?
    /// `nil` for the default: where the connection has TLS for certain, the answer to SCRAM is bound
    /// to the server's certificate.
    public var binding: Binding?
    /// The password itself, where a program derives it; no text of the address shows it.
    public var password: String?

    public init(
        host: String, port: Int = 5432, database: String, user: String,
        passwordFile: String? = nil, rootCertificate: String? = nil
    ) {
        hosts = [Host(host, port: port)]
        self.database = database
        self.user = user
        self.passwordFile = passwordFile
        self.rootCertificate = rootCertificate
    }

    /// The name of the first host; setting it leaves no other.
    public var host: String {
        get { hosts[0].name }
        set { hosts = [Host(newValue, port: port)] }
    }

    /// The port of the first host; setting it leaves no other.
    public var port: Int {
        get { hosts[0].port }
        set { hosts = [Host(host, port: newValue)] }
    }

    /// Whether nobody else can listen on the way to any host: a Unix socket, or this machine
    /// itself. Another user of this machine can take a port while the server is down.
    private var isLocal: Bool {
        hosts.map(\.name).allSatisfy { host in
            host.hasPrefix("/") || host == "localhost" || host == "::1"
                // An address, and no name that begins like one.
                || host.hasPrefix("127.") && host.utf8.allSatisfy { (0x2E...0x39).contains($0) }
        }
    }

    /// The parameters of libpq for one of the hosts (PostgreSQL's documentation, 34.1.2), each
    /// given, so that no default of the user or the system takes part.
    ///
    /// libpq answers whatever a server asks, in clear text too, unless it is told otherwise: since 16
    /// by `require_auth`, and before by a binding to TLS, without which it then answers nothing.
    ///
    /// - Parameter library: the version of libpq, as `PQlibVersion` has it.
    func parameters(
        for host: Host, password: String? = nil, library: Int32 = 0
    ) -> [(name: String, value: String)] {
        let questions = password == nil ? self.questions : self.questions ?? [.scram]
        let knowsQuestions = library >= 160_000
        let needsBinding = !knowsQuestions && questions == [.scram] && !host.isSocket
        let hasTLS = !host.isSocket && (!isLocal || needsBinding)
        let binding =
            binding ?? (hasTLS && questions == [.scram] && password != nil ? .require : .prefer)
        var parameters: [(name: String, value: String)] = [
            ("host", host.name), ("port", String(host.port)), ("dbname", database),
            ("user", user), ("password", password ?? ""),
            // A file that cannot exist, in place of ~/.pgpass.
            ("passfile", "/dev/null/none"),
            ("target_session_attrs", (target ?? (hosts.count > 1 ? .readWrite : .any)).rawValue),
            // Beyond this machine the server has to prove its name.
            ("sslmode", isLocal ? needsBinding ? "require" : "prefer" : "verify-full"),
            // With a file that exists, `require` would verify the certificate.
            (
                "sslrootcert",
                rootCertificate
                    ?? (isLocal && needsBinding
                        ? "/dev/null/none" : "/etc/ssl/certs/ca-certificates.crt")
            ),
            ("channel_binding", binding.rawValue),
            ("application_name", "clarity-jobs"), ("client_encoding", "UTF8"),
            ("gssencmode", "disable"),
            // A peer that is cut off is noticed within a second or two.
            ("keepalives_idle", "1"), ("keepalives_interval", "1"), ("keepalives_count", "1"),
            ("tcp_user_timeout", "900"),
        ]
        if knowsQuestions, let questions {
            parameters.append(
                ("require_auth", questions.map(\.rawValue).sorted().joined(separator: ",")))
        }
        return parameters
    }
}

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
    /// It has a user, a database, and one or more hosts, which commas separate: names, addresses,
    /// or, percent-encoded or as the parameter `host`, folders of Unix sockets. Other parameters are
    /// `passfile`, `sslrootcert`, `target_session_attrs`, `require_auth` and `channel_binding`.
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
        self.init(host: "", database: database, user: user)
        hosts = try authority[1].split(separator: ",", omittingEmptySubsequences: false).map {
            text throws(ServerAddressFault) in try ServerAddress.host(text)
        }
        let isNameless = hosts.count == 1 && host.isEmpty
        for parameter in parts.dropFirst().joined().split(separator: "&") {
            let words = parameter.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard ServerAddress.parameters.contains(words[0]), words[0] != "host" || isNameless
            else {
                throw ServerAddressFault(
                    message: "has a parameter that is not allowed",
                    help: "its parameters are `passfile`, `sslrootcert`, `target_session_attrs`, "
                        + "`require_auth`, `channel_binding`, and `host` for the folder of a Unix "
                        + "socket")
            }
            guard try !choose(words[0], words.count == 2 ? words[1] : "") else { continue }
            // libpq separates the folders of several sockets by commas.
            let value = words.count == 2 ? ServerAddress.decoded(words[1]) : nil
            guard let value, value.hasPrefix("/"),
                words[0] != "host" || value.split(separator: ",").allSatisfy({ $0.hasPrefix("/") })
            else {
                throw ServerAddressFault(message: "has a parameter that is no absolute path")
            }
            switch words[0] {
            case "host":
                hosts = value.split(separator: ",").map { Host(String($0), port: port) }
            case "passfile": passwordFile = value
            default: rootCertificate = value
            }
        }
        guard !hosts.contains(where: \.name.isEmpty) else {
            throw ServerAddressFault(
                message: hosts.count == 1 ? "names no host" : "has a comma with no host beside it")
        }
    }

    private static let parameters: [Substring] = [
        "host", "passfile", "sslrootcert", "target_session_attrs", "require_auth",
        "channel_binding",
    ]

    /// Takes a parameter with a choice of words; returns whether it is one.
    private mutating func choose(
        _ name: Substring, _ encoded: Substring
    ) throws(ServerAddressFault) -> Bool {
        let value = ServerAddress.decoded(encoded) ?? ""
        switch name {
        case "target_session_attrs":
            target = Target(rawValue: value)
            guard target == nil else { return true }
            throw ServerAddressFault(
                message: "has a `target_session_attrs` that is not `any`, `read-write` or `primary`"
            )
        case "channel_binding":
            binding = Binding(rawValue: value)
            guard binding == nil else { return true }
            throw ServerAddressFault(
                message: "has a `channel_binding` that is not `disable`, `prefer` or `require`")
        case "require_auth":
            let words = value.split(separator: ",", omittingEmptySubsequences: false)
            let questions = words.compactMap { Question(rawValue: String($0)) }
            guard questions.count < words.count else {
                self.questions = Set(questions)
                return true
            }
            throw ServerAddressFault(
                message: "has a `require_auth` with a word that is not `scram-sha-256`, `md5` or "
                    + "`password`")
        default: return false
        }
    }

    private static func host(_ text: Substring) throws(ServerAddressFault) -> Host {
        var (host, rest) = (text.prefix { $0 != ":" }, text.drop { $0 != ":" })
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else {
                throw ServerAddressFault(message: "has a `[` without its `]`")
            }
            (host, rest) = (text[..<end].dropFirst(), text[end...].dropFirst())
        }
        // libpq takes a name with a comma for two hosts.
        guard let name = decoded(host), !name.contains(","),
            name.hasPrefix("/") || !name.contains("/")
        else {
            throw ServerAddressFault(message: "has a host that is neither a name nor an address")
        }
        if rest.isEmpty { return Host(name) }
        guard rest.first == ":", let port = UInt16(rest.dropFirst()), port > 0 else {
            throw ServerAddressFault(message: "has a port that is no number from 1 to 65535")
        }
        return Host(name, port: Int(port))
    }

    /// The URI, which has no password: the file that has it is named, if there is one.
    public var uri: String {
        // A folder has a parameter of its own unless it is one of several hosts.
        let folder = hosts.count == 1 && host.hasPrefix("/") ? host : nil
        let shown = hosts.map { host in
            let name =
                host.name.hasPrefix("/")
                ? folder == nil ? ServerAddress.encoded(host.name) : ""
                : host.name.contains(":") ? "[\(host.name)]" : host.name
            return host.port == 5432 ? name : "\(name):\(host.port)"
        }.joined(separator: ",")
        let parameters = [
            ("host", folder), ("target_session_attrs", target?.rawValue),
            ("require_auth", questions?.map(\.rawValue).sorted().joined(separator: ",")),
            ("channel_binding", binding?.rawValue),
            ("passfile", passwordFile), ("sslrootcert", rootCertificate),
        ].compactMap { name, value in
            value.map { "\(name)=\(ServerAddress.encoded($0, besides: "/"))" }
        }
        return
            "postgresql://\(ServerAddress.encoded(user))@\(shown)/\(ServerAddress.encoded(database))"
            + (parameters.isEmpty ? "" : "?\(parameters.joined(separator: "&"))")
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
