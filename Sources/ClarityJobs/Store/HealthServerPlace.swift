import Database

/// The health data of one account in PostgreSQL.
///
/// The rows of all accounts are in the same tables. Row-level security compares their account with
/// the one that the session has set, so that no statement reaches another's. They are sealed as in a
/// file, and the key is never on the server.
struct HealthServerPlace: HealthPlace {
    let address: ServerAddress
    let account: String
    /// The state directory of this machine, which has the key.
    let folder: String

    var name: String { "\(address), account `\(account)`" }
    var share: StoreLock? { nil }

    func open(keyID: String) throws -> Connection {
        let connection = try connect()
        try ServerHealthSchema.requireVersion(connection)
        try connection.run(HealthSchema.firstRows)
        return connection
    }

    func lookout() throws -> Connection? { try connect() }

    private func connect() throws(DatabaseError) -> ServerConnection {
        try ServerConnection(
            address, owner: .init(column: ServerHealthSchema.ownerColumn, value: account),
            schema: ServerHealthSchema.name)
    }

    // The locks of a session end with it, and a session with its process.

    func lock(_ number: Int64, _ connection: Connection) throws -> Bool {
        try connection.integer("SELECT pg_try_advisory_lock(?)", .integer(number)) == 1
    }

    func unlock(_ number: Int64, _ connection: Connection) throws {
        try connection.run("SELECT pg_advisory_unlock(?)", .integer(number))
    }

    func isLocked(_ number: Int64, _ connection: Connection) throws -> Bool {
        // Shared, so that two who ask at the same time do not take each other for the sender.
        try connection.integer(
            "SELECT pg_try_advisory_xact_lock_shared(?)", .integer(number)) != 1
    }
}
