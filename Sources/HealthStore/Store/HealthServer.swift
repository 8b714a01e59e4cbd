public import ClarityScheduler
import Platform
public import Database

/// The health data on a server as a whole: the statements that make it, and who has a place in it.
public enum HealthServer {
    /// The schema that has its tables.
    public static var schema: ServerSchema { ServerHealthSchema.schema }

    /// The statements that make the schema, for a role that owns the database.
    ///
    /// - Parameter users: the role of the schedulers.
    public static func statements(users: String) -> String {
        ServerHealthSchema.statements(users: users)
    }

    /// The statements that made each version of the schema of the one before.
    public static func upgrades(users: String) -> [String] {
        ServerHealthSchema.upgrades(users: users)
    }

    /// The role of which those of all accounts are members.
    public static func accountsRole(of users: String) -> String {
        ServerHealthSchema.accountsRole(of: users)
    }

    /// Returns the name of an account's role; `nil` stands for the account of a job file without
    /// accounts.
    public static func role(of account: AccountID?, users: String) -> String {
        ServerAccount.role(of: ServerAccount.name(of: account), users: users)
    }

    /// Returns what the server checks the login of an account's role by. Creates the account's
    /// master key if there is none yet.
    ///
    /// - Parameters:
    ///   - stateDirectory: the folder of the account, which may have the key.
    ///   - environment: as for opening the store.
    /// - Throws: `HealthStoreError` if the key cannot be used or made.
    public static func passwordVerifier(
        stateDirectory: String, environment: [String: String]
    ) throws(HealthStoreError) -> String {
        let source = MasterKeySource(stateDirectory: stateDirectory, environment: environment)
        return try HealthStore.describing(stateDirectory) {
            let known = try source.find()?.key
            if known == nil { _ = try StateDirectory(path: stateDirectory) }
            return try DatabaseLogin(known ?? source.create()).verifier()
        }
    }

    /// Deletes all rows of an account, with its key, in every table of the health data.
    ///
    /// - Parameters:
    ///   - stateDirectory: the folder of the account, which may have the key.
    ///   - environment: names the server and the account (`ServerAccount`).
    /// - Throws: `HealthStoreError`; then nothing was deleted.
    public static func erase(
        stateDirectory: String, environment: [String: String]
    ) throws(HealthStoreError) {
        guard let (server, account) = try ServerAccount.named(in: environment) else { return }
        try HealthStore.describing("\(server)") {
            let source = MasterKeySource(stateDirectory: stateDirectory, environment: environment)
            try HealthServerPlace(
                address: server, account: account, folder: stateDirectory, key: source.find()?.key
            ).erase()
        }
    }

    /// Whether a server has rows of an account; `false` too for an account that has no role there.
    public static func hasData(
        stateDirectory: String, environment: [String: String]
    ) throws(HealthStoreError) -> Bool {
        guard let (server, account) = try ServerAccount.named(in: environment) else { return false }
        return try HealthStore.describing("\(server)") {
            let source = MasterKeySource(stateDirectory: stateDirectory, environment: environment)
            do {
                return try HealthServerPlace(
                    address: server, account: account, folder: stateDirectory,
                    key: source.find()?.key
                ).connect().hasRows("tenancy")
            } catch let error as DatabaseError where error.isAccess {
                return false
            }
        }
    }

    /// Has the server remove deleted rows from its tables.
    ///
    /// - Parameter connection: of the schedulers. Only the owner of a table may do it.
    /// - Returns: the statements that are left to the owner; empty if all were done.
    public static func vacuum(_ connection: Connection) throws(DatabaseError) -> String {
        let statements = "VACUUM (FULL) \(ServerHealthSchema.name).account_key; VACUUM (ANALYZE);"
        let foreign = try connection.integer(
            """
            SELECT count(*) FROM pg_class
            WHERE relkind = 'r' AND NOT pg_has_role(relowner, 'USAGE')
                AND relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname LIKE 'clarity\\_%')
            """)
        guard foreign == 0 else { return statements }
        // A page keeps the bytes of a row until it is written again: the keys get new pages.
        for statement in statements.split(separator: ";") {
            try connection.execute(String(statement))
        }
        return ""
    }

    /// Returns the accounts that are logged in, as the role of the schedulers sees them.
    public static func logins(_ connection: Connection) throws(DatabaseError) -> Set<String> {
        Set(
            try connection.all("SELECT account FROM \(ServerHealthSchema.name).logins") {
                $0.text(0)
            })
    }

    /// Returns the name under which the server has an account.
    public static func name(of account: AccountID?) -> String { ServerAccount.name(of: account) }
}
