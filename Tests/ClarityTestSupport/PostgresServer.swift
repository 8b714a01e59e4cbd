public import Database
@preconcurrency import Glibc
import Synchronization

/// A PostgreSQL server of Debian's package, with data of its own, which ends with these tests.
///
/// It listens on a Unix socket alone. Commits do not wait for the disk.
public final class PostgresServer: Sendable {
    /// A failure of a program that the server needs, with its message.
    public struct Failure: Error, CustomStringConvertible {
        public var description: String
    }

    private let folder: TemporaryFolder
    private let program: ChildProgram
    private let made = Atomic<Int>(0)
    /// The password of its administrator, if it asks for passwords.
    private let password: String?

    /// Whether this machine has a server. The first access also prints the answer to standard
    /// error, so that a log shows whether the tests that need a server ran.
    public static let isAvailable: Bool = {
        let line =
            programs == nil ? "skipped: tests on PostgreSQL (\(need))" : "tests on PostgreSQL run"
        fputs("\(line)\n", stderr)
        return programs != nil
    }()

    /// What a server needs, for the trait of tests that use one.
    public static let need = "needs Debian's package postgresql (`scripts/setup test`)"

    /// The folder of the newest server's programs.
    private static let programs: String? = (13...99).reversed()
        .map { "/usr/lib/postgresql/\($0)/bin" }.first { access("\($0)/postgres", X_OK) == 0 }

    /// The server that the tests share. The first access starts it.
    public static func shared() async throws -> PostgresServer { try await starting.value }

    private static let starting = Task { try await PostgresServer() }

    /// Starts a server of its own.
    ///
    /// - Parameter asksPasswords: whether each role needs its password.
    public init(asksPasswords: Bool = false) async throws {
        guard let programs = PostgresServer.programs else { throw Failure(description: Self.need) }
        folder = try TemporaryFolder(isInMemory: true)
        password = asksPasswords ? "invented" : nil
        // The server refuses to run as root.
        var words: [String] = []
        if getuid() == 0 {
            let account = "postgres"
            guard let entry = getpwnam(account),
                chown(folder.path, entry.pointee.pw_uid, entry.pointee.pw_gid) == 0
            else { throw Failure(description: "there is no user `\(account)`") }
            words = ["setpriv", "--reuid=\(account)", "--regid=\(account)", "--clear-groups"]
        }
        // The server ends, and its files go, when these tests end and with them the pipe.
        program = try ChildProgram(
            "/usr/bin/env",
            words + [
                "/bin/bash", "-c", Self.script, "bash", programs, folder.path,
                asksPasswords ? "scram-sha-256" : "trust",
            ],
            environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"])
        var lines: [String] = []
        while let line = await program.readErrorLine() {
            if line.hasSuffix("ready to accept connections") { break }
            lines.append(line)
        }
        guard lines.allSatisfy({ $0.contains("LOG:") }) else {
            throw Failure(description: lines.joined(separator: "\n"))
        }
        let admin = try administrator()
        try admin.execute(
            "CREATE ROLE clarity LOGIN PASSWORD 'invented'; CREATE ROLE clarity_accounts")
        for account in ["ada", "eve"] {
            try admin.execute("CREATE ROLE \"clarity/\(account)\" LOGIN IN ROLE clarity_accounts")
        }
    }

    private static let script = """
        set -eu
        # A connection of another test that the server inherited would not end before the server.
        for open in /proc/self/fd/*; do
            number=${open##*/}
            [ "$number" -le 2 ] || eval "exec $number>&-"
        done
        echo invented >"$2"/password
        "$1"/initdb -D "$2"/data -U admin -A "$3" --pwfile="$2"/password --no-sync --wal-segsize=1 --locale=C -E UTF8 \
            >"$2"/initdb.log 2>&1 || { cat "$2"/initdb.log >&2; exit 1; }
        "$1"/postgres -D "$2"/data -k "$2" -c listen_addresses= -c fsync=off \
            -c max_connections=200 -c log_min_messages=log -c log_checkpoints=off &
        server=$!
        read -r line || true
        kill -INT "$server"
        wait "$server" || true
        rm -rf "$2"
        """

    /// Connects to a database as the administrator.
    public func administrator(of database: String = "postgres") throws -> ServerConnection {
        var address = address(of: database, user: "admin")
        address.password = password
        return try ServerConnection(address)
    }

    /// Ends all sessions of a database, as a restart of the server does.
    public func endSessions(of database: String) throws {
        try administrator().run(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = ? AND pid <> pg_backend_pid()
            """, .text(database))
    }

    public func address(of database: String, user: String = "clarity") -> ServerAddress {
        ServerAddress(host: folder.path, database: database, user: user)
    }

    /// Makes a database that belongs to the role `clarity`.
    ///
    /// - Parameter template: the database that it is a copy of.
    public func makeDatabase(from template: String = "template1") throws -> ServerAddress {
        let name = "d\(made.add(1, ordering: .relaxed).newValue)"
        let admin = try administrator()
        try admin.execute("CREATE DATABASE \(name) OWNER clarity TEMPLATE \(template)")
        return address(of: name)
    }

    /// Removes a database that nobody uses any more.
    public func remove(_ database: ServerAddress) throws {
        let admin = try administrator()
        try admin.execute("DROP DATABASE \(database.database)")
    }
}
