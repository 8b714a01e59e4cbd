import Database
@preconcurrency import Glibc

/// A PostgreSQL server with data of its own, which ends with its owner. Its commits wait for the
/// disk, as they do where it is in use.
final class Cluster {
    private let folder: String
    private let server: Child

    /// - Throws: `Trouble` where Debian's package `postgresql` is not installed.
    init(_ surroundings: Surroundings) throws {
        folder = try surroundings.makeFolder("cluster")
        guard
            let programs = (13...99).reversed().map({ "/usr/lib/postgresql/\($0)/bin" })
                .first(where: { access("\($0)/postgres", X_OK) == 0 })
        else { throw Trouble("no PostgreSQL (the package postgresql)") }
        // The server refuses to run as root.
        var words: [String] = []
        if getuid() == 0 {
            guard let account = getpwnam("postgres"), chmod(surroundings.folder, 0o711) == 0,
                chown(folder, account.pointee.pw_uid, account.pointee.pw_gid) == 0
            else { throw Trouble("no user `postgres`") }
            words = ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        }
        try Child.run(
            words + [
                "\(programs)/initdb", "-D", "\(folder)/data", "-U", "admin", "-A", "trust",
                "--locale=C", "-E", "UTF8",
            ])
        server = try Child(
            words + [
                "\(programs)/postgres", "-D", "\(folder)/data", "-k", folder, "-c",
                "listen_addresses=", "-c", "shared_buffers=256MB", "-c", "max_wal_size=4GB",
            ], errors: "\(surroundings.folder)/cluster.log")
        let start = steadyMilliseconds()
        while true {
            do throws(DatabaseError) {
                try ServerConnection(address("postgres", user: "admin")).execute(
                    "CREATE ROLE clarity LOGIN")
                return
            } catch {
                guard error.kind == .gone, steadyMilliseconds() - start < 20_000 else {
                    throw Trouble("PostgreSQL did not start: \(error)")
                }
                usleep(50_000)
            }
        }
    }

    deinit {
        server.send(SIGINT)
        server.wait()
    }

    var processID: pid_t { server.processID }

    func address(_ database: String, user: String = "clarity") -> ServerAddress {
        ServerAddress(host: folder, database: database, user: user)
    }

    /// Makes an empty database that the role `clarity` owns.
    func makeDatabase(_ name: String) throws -> ServerAddress {
        try ServerConnection(address("postgres", user: "admin")).execute(
            "CREATE DATABASE \(name) OWNER clarity")
        return address(name)
    }

    /// The processor time of all its processes so far, in milliseconds.
    func milliseconds() throws -> Double {
        let children = try text(of: "/proc/\(processID)/task/\(processID)/children")
            .split { $0.isWhitespace }.compactMap { pid_t($0) }
        let own = try Child.usage(of: processID)
        // Those that have ended count as the server's children.
        return try children.reduce(own.milliseconds + own.childMilliseconds) {
            try $0 + Child.usage(of: $1).milliseconds
        }
    }
}
