import ClarityTestSupport
import Database
@preconcurrency import Glibc
@testable import ClarityHost
@testable import HealthStore

/// A database in which the programs of a playground keep their state in place of files. It ends with
/// its owner.
final class StateDatabase: Sendable {
    let address: ServerAddress
    /// The `keys/master.key` of the sole account.
    let key: [UInt8]
    private let server: PostgresServer

    /// Makes a database with all tables and the role of the sole account.
    ///
    /// - Parameter own: the server, if it is not the one that the tests share.
    init(on own: PostgresServer? = nil) async throws {
        if let own {
            server = own
            address = try own.makeDatabase()
            key = try await StateDatabase.prepare(address)
        } else {
            let template = try await StateDatabase.template.value
            server = try await PostgresServer.shared()
            address = try server.makeDatabase(from: template.name)
            key = template.key
        }
    }

    deinit {
        do {
            try server.remove(address)
        } catch {
            fputs("leftover database: \(error)\n", stderr)
        }
    }

    /// The database of the shared server of which others are copies.
    private static let template = Task {
        let server = try await PostgresServer.shared()
        let database = try server.makeDatabase()
        let key = try await StateDatabase.prepare(database)
        // A database in use cannot be copied.
        try server.endSessions(of: database.database)
        return (name: database.database, key: key)
    }

    /// Makes the tables, and returns the key that was made with them.
    private static func prepare(_ database: ServerAddress) async throws -> [UInt8] {
        let playground = try await Playground(sandboxOptions: nil) { url, folder in
            Playground.standardJobFile(url: url, folder: folder)
                .placed(in: database)
        }
        let made = try await playground.run("store", "init", "--apply", "--owner", "admin")
        guard made.status == 0 else { throw PostgresServer.Failure(made.errors) }
        return try TemporaryFolder.read("\(playground.statePath)/keys/master.key")
    }

    /// Ends all sessions, as a restart of the server does.
    func endSessions() throws { try server.endSessions(of: address.database) }

    /// Returns the process of the loop that leads; `nil` if none does now.
    func leader() throws -> pid_t? {
        try server.administrator(of: address.database).first(
            """
            SELECT split_part(application_name, '/', 2) FROM pg_stat_activity, clarity_history.lead
            WHERE split_part(application_name, ' ', 2) = leader
            """
        ) { pid_t($0.text(0)) }
    }

    /// Waits until the server has noticed the end of all programs that used the database. What they
    /// had locked is free then.
    func waitUntilUnused() async throws {
        let admin = try server.administrator()
        while try admin.integer(
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = ? AND backend_type = 'client backend'
            """, .text(address.database)) != 0
        {
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Opens the history to read it.
    func history() throws -> Connection { try ServerHistory.connect(to: address) }

    /// Copies everything into the files that a state directory would have.
    ///
    /// - Parameter accounts: the accounts of the job file; empty for the sole one.
    func copy(into state: String, accounts: [String]) throws {
        mkdir(state, 0o700)
        try fill("\(state)/history.db", from: try history(), historyMigrations)
        if accounts.isEmpty { try copy("-", into: state) }
        for id in accounts {
            for folder in ["accounts", "accounts/\(id)"] { mkdir("\(state)/\(folder)", 0o700) }
            try copy(id, into: "\(state)/accounts/\(id)")
        }
    }

    /// Writes the key into a state directory, which is created if it is missing.
    func writeKey(into state: String) throws {
        for folder in [state, "\(state)/keys"] { mkdir(folder, 0o700) }
        let path = "\(state)/keys/master.key"
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw TemporaryFolder.Errno(code: errno) }
        defer { close(file) }
        guard write(file, key, key.count) == key.count else {
            throw TemporaryFolder.Errno(code: errno)
        }
    }

    private func copy(_ account: String, into folder: String) throws {
        let place = try HealthServerPlace(
            address: address, account: account, folder: folder, key: nil)
        let source = try place.open(keyID: "")
        try fill("\(folder)/health.db", from: source, HealthSchema.migrations)
        let key = try source.first("SELECT wrapped FROM account_key") { $0.blob(0) }
        if let key { _ = try KeyFile.make("\(folder)/account.key", key) }
    }

    private func fill(
        _ path: String, from source: Connection, _ migrations: Migrations
    ) throws {
        let file = try FileConnection(path: path)
        // A judge reads it, and then it is gone.
        try file.execute("PRAGMA synchronous = OFF")
        try migrations.migrate(file)
        try source.snapshot { _ = try TableCopy(from: source, to: file).run() }
    }
}

extension Playground {
    /// Opens the history to read it.
    func openHistory() throws -> Connection {
        try database?.history()
            ?? FileConnection(path: "\(statePath)/history.db", access: .readWrite)
    }
}

extension String {
    /// Returns a job file whose state is in a database.
    func placed(in database: ServerAddress) -> String {
        let line = "store: { url: \"\(database.uri)\""
        return contains("\nstore: { ")
            ? replacing("\nstore: { ", with: "\n\(line), ")
            : replacing("version: 1\n", with: "version: 1\n\(line) }\n")
    }
}
