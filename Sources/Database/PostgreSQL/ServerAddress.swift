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
