/// Where a PostgreSQL server is, and as whom to log in there.
public struct ServerAddress: Hashable, Sendable {
    /// A host's name or address, or the folder of a Unix socket.
    public var host: String
    public var port: Int
    public var database: String
    public var user: String
    /// The file that has the password, as in `~/.pgpass`; `nil` if none is needed.
    public var passwordFile: String?
    /// The file with the certificates that may have signed the server's; `nil` for the system's.
    public var rootCertificate: String?
    /// The password itself, where a program derives it; no text of the address shows it.
    public var password: String?

    public init(
        host: String, port: Int = 5432, database: String, user: String,
        passwordFile: String? = nil, rootCertificate: String? = nil
    ) {
        self.host = host
        self.port = port
        self.database = database
        self.user = user
        self.passwordFile = passwordFile
        self.rootCertificate = rootCertificate
    }

    /// Whether nobody else can listen on the way: a Unix socket, or this machine itself.
    var isLocal: Bool {
        host.hasPrefix("/") || host == "localhost" || host == "::1"
            // An address, and no name that begins like one.
            || host.hasPrefix("127.") && host.utf8.allSatisfy { (0x2E...0x39).contains($0) }
    }

    /// The parameters of libpq (PostgreSQL's documentation, 34.1.2), each given, so that no default
    /// of the user or the system takes part.
    var parameters: [(name: String, value: String)] {
        [
            ("host", host), ("port", String(port)), ("dbname", database), ("user", user),
            ("password", password ?? ""),
            // A file that cannot exist, in place of ~/.pgpass.
            ("passfile", "/dev/null/none"),
            // Beyond this machine the server has to prove its name.
            ("sslmode", isLocal ? "prefer" : "verify-full"),
            ("sslrootcert", rootCertificate ?? "/etc/ssl/certs/ca-certificates.crt"),
            ("application_name", "clarity-jobs"), ("client_encoding", "UTF8"),
            ("gssencmode", "disable"),
            // A peer that is cut off is noticed within a second or two.
            ("keepalives_idle", "1"), ("keepalives_interval", "1"), ("keepalives_count", "1"),
            ("tcp_user_timeout", "900"),
        ]
    }
}
