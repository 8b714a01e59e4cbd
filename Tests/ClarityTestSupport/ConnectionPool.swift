public import Database
import Glibc

/// A connection pool in front of a server: pgbouncer, which ends with these tests.
public final class ConnectionPool: Sendable {
    public static let isAvailable = access("/usr/sbin/pgbouncer", X_OK) == 0
    /// What a pool needs, for the trait of tests that use one.
    public static let need = "needs Debian's package pgbouncer (`scripts/setup test`)"

    private let folder: TemporaryFolder
    private let program: ChildProgram

    /// Starts a pool.
    ///
    /// - Parameter mode: for how long a client has a session of the server: `session`,
    ///   `transaction` or `statement`.
    public init(before server: ServerAddress, mode: String) async throws {
        let folder = try TemporaryFolder(isInMemory: true)
        self.folder = folder
        try folder.write("users", Array("\"\(server.user)\" \"\"\n".utf8))
        try folder.write(
            "settings",
            Array(
                """
                [databases]
                * = host=\(server.host) port=\(server.port)
                [pgbouncer]
                pool_mode = \(mode)
                listen_addr =
                unix_socket_dir = \(folder.path)
                listen_port = 5432
                auth_type = trust
                auth_file = \(folder.path)/users

                """.utf8))
        // It refuses to run as root.
        var words = ["/usr/sbin/pgbouncer", "\(folder.path)/settings"]
        if getuid() == 0 {
            guard let entry = getpwnam("postgres"),
                ["", "/users", "/settings"].allSatisfy({
                    chown(folder.path + $0, entry.pointee.pw_uid, entry.pointee.pw_gid) == 0
                })
            else { throw PostgresServer.Failure("there is no user `postgres`") }
            words = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] + words
        }
        program = try ChildProgram("/usr/bin/env", words, environment: ["PATH": "/usr/bin:/bin"])
        var lines: [String] = []
        while let line = await program.readErrorLine() {
            if line.contains("process up") { return }
            lines.append(line)
        }
        throw PostgresServer.Failure(lines.joined(separator: "\n"))
    }

    /// Returns the address of the pool for a database of the server.
    public func address(of database: ServerAddress) -> ServerAddress {
        var address = database
        address.hosts = [ServerAddress.Host(folder.path)]
        return address
    }
}
