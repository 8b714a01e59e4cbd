public import Database
@preconcurrency import Glibc
import Synchronization

/// A PostgreSQL server of Debian's package, with data of its own, which ends with these tests.
///
/// It listens on a Unix socket, and on a port only with a certificate. Commits do not wait for the
/// disk.
public final class PostgresServer: Sendable {
    /// A failure of a program that the server needs, with its message.
    public struct Failure: Error, CustomStringConvertible {
        public var description: String

        public init(_ description: String) { self.description = description }
    }

    private let folder: TemporaryFolder
    private let program: ChildProgram
    private let made = Atomic<Int>(0)
    /// Where it listens, on 127.0.0.1 too if it has a certificate.
    public let port: Int
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
    public static let programs: String? = (13...99).reversed()
        .map { "/usr/lib/postgresql/\($0)/bin" }.first { access("\($0)/postgres", X_OK) == 0 }

    /// The server that the tests share. The first access starts it.
    public static func shared() async throws -> PostgresServer { try await starting.value }

    private static let starting = Task { try await PostgresServer() }

    /// Starts a server of its own.
    ///
    /// - Parameters:
    ///   - asksPasswords: whether each role needs its password.
    ///   - question: how it asks.
    ///   - identity: the certificate and the key with which it listens on a port, too.
    ///   - connections: how many there may be at a time.
    ///   - place: a folder whose empty folder `data` is for its data; one in memory without it.
    public init(
        asksPasswords: Bool = false, question: String = "scram-sha-256",
        identity: TestAuthority.Identity? = nil, connections: Int = 300,
        in place: TemporaryFolder? = nil
    ) async throws {
        guard let programs = PostgresServer.programs else { throw Failure(Self.need) }
        folder = if let place { place } else { try TemporaryFolder(isInMemory: true) }
        password = asksPasswords ? "invented" : nil
        port = identity == nil ? 5432 : try DeafPort().number
        if let identity {
            try folder.write("tls.pem", TemporaryFolder.read(identity.certificate))
            try folder.write("tls.key", TemporaryFolder.read(identity.key))
            chmod("\(folder.path)/tls.key", 0o600)
        }
        // The server refuses to run as root.
        var words: [String] = []
        if getuid() == 0 {
            let account = "postgres"
            let files = identity == nil ? [] : ["\(folder.path)/tls.pem", "\(folder.path)/tls.key"]
            let folders = [folder.path] + (place.map { ["\($0.path)/data"] } ?? []) + files
            guard let entry = getpwnam(account),
                folders.allSatisfy({
                    chown($0, entry.pointee.pw_uid, entry.pointee.pw_gid) == 0
                })
            else { throw Failure("there is no user `\(account)`") }
            words = ["setpriv", "--reuid=\(account)", "--regid=\(account)", "--clear-groups"]
        }
        // The server ends, and its files go, when these tests end and with them the pipe.
        program = try ChildProgram(
            "/usr/bin/env",
            words + [
                "/bin/bash", "-c", Self.script, "bash", programs, folder.path,
                asksPasswords ? question : "trust", "\(connections)",
                "-p \(port)"
                    + (identity == nil
                        ? " -c listen_addresses="
                        : " -c listen_addresses=127.0.0.1 -c ssl=on"
                            + " -c ssl_cert_file=\(folder.path)/tls.pem"
                            + " -c ssl_key_file=\(folder.path)/tls.key")
                    + Self.settings.map { " -c \($0)" }.joined(),
            ],
            environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"])
        try await waitUntilReady()
        let admin = try administrator()
        try admin.execute(
            "CREATE ROLE clarity LOGIN PASSWORD 'invented'; CREATE ROLE clarity_accounts")
        for account in ["ada", "eve"] {
            try admin.execute("CREATE ROLE \"clarity/\(account)\" LOGIN IN ROLE clarity_accounts")
        }
    }

    private func waitUntilReady() async throws {
        var lines: [String] = []
        while let line = await program.readErrorLine(), line != "ended" {
            if line == "ready" { return }
            lines.append(line)
        }
        throw Failure((lines + [log]).joined(separator: "\n"))
    }

    /// What the server has logged.
    public var log: String {
        (try? TemporaryFolder.read("\(folder.path)/log"))
            .map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// Ends the server without a word to its clients, as a crash does.
    public func crash() async {
        program.writeLine("crash")
        while let line = await program.readErrorLine(), line != "ended" {}
    }

    /// Ends the server as its service does, which ends all sessions first.
    public func stop() async {
        program.writeLine("stop")
        while let line = await program.readErrorLine(), line != "ended" {}
    }

    /// Stops all processes of the server: it neither answers nor ends a connection.
    public func freeze() async {
        program.writeLine("freeze")
        while let line = await program.readErrorLine(), line != "done" {}
    }

    /// Lets a frozen server go on.
    public func thaw() async {
        program.writeLine("thaw")
        while let line = await program.readErrorLine(), line != "done" {}
    }

    /// Returns sessions that leave none to others for as long as they exist.
    public func takeAllConnections() -> [ServerConnection] {
        var sessions: [ServerConnection] = []
        while let session = try? ServerConnection(address(of: "postgres")) {
            sessions.append(session)
        }
        return sessions
    }

    /// Makes a standby of the server, which takes no writes until it is promoted.
    public func becomeStandby() async throws {
        await crash()
        try folder.write("data/standby.signal", [])
        try await restart()
    }

    /// Starts the server again after its end.
    public func restart() async throws {
        program.writeLine("start")
        try await waitUntilReady()
    }

    /// Settings that nothing may depend on, as an administrator may have them: each is another one
    /// than the server's own.
    private static let settings = [
        "array_nulls=off", "backslash_quote=off", "bytea_output=escape", "datestyle=German",
        "default_transaction_deferrable=on", "default_transaction_isolation=serializable",
        "escape_string_warning=off", "extra_float_digits=-15", "intervalstyle=postgres_verbose",
        "standard_conforming_strings=off", "timezone=5", "transform_null_equals=on",
    ]

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
        start() {
            # Whoever does not read what the server logs brings it to a stop, with all its locks.
            "$1"/postgres -D "$2"/data -k "$2" $5 -c fsync=off \
                -c max_connections="$4" -c log_min_messages=log -c log_checkpoints=off 2> >(
                    while IFS= read -r line; do
                        printf '%s\\n' "$line" >>"$2"/log || true
                        case $line in *'ready to accept '*connections) echo ready >&2 ;; esac
                    done
                    echo ended >&2
                ) &
            server=$!
        }
        end() {
            kill -"$1" "$server" 2>/dev/null || true
            wait "$server" || true
        }
        start "$@"
        while read -r line; do
            case $line in
            crash) end QUIT ;;
            stop) end INT ;;
            start) start "$@" ;;
            freeze)
                kill -STOP "$server"
                stopped="$server $(cat /proc/"$server"/task/"$server"/children)"
                kill -STOP $stopped
                echo done >&2
                ;;
            thaw) kill -CONT $stopped && echo done >&2 ;;
            esac
        done
        end INT
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
        ServerAddress(host: folder.path, port: port, database: database, user: user)
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

    /// Removes a database, and ends its sessions.
    public func remove(_ database: ServerAddress) throws {
        let admin = try administrator()
        try admin.execute("DROP DATABASE \(database.database) WITH (FORCE)")
    }
}
