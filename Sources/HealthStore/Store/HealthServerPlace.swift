public import ClarityScheduler
public import Database
import Platform
@preconcurrency import Glibc

/// The health data of one account in PostgreSQL.
///
/// The rows of all accounts are in the same tables. Row-level security compares their account with
/// the one that the session has set and with the role that has logged in, so that no statement
/// reaches another's. They are encrypted as in a file, and the key is never on the server.
struct HealthServerPlace: HealthPlace {
    /// The server, with the account's role.
    let address: ServerAddress
    let account: String
    /// The state directory of this machine, which may have the key.
    let folder: String
    /// Whether data that begins here gets a key of its own, which the given key wraps.
    let wrapsKeys: Bool
    /// What this machine knows of the audit log's end.
    let machineNote: ServerNote

    var note: (any EndNote)? { machineNote }
    var name: String { "\(address)" }
    var share: StoreLock? { nil }
    var server: HealthServerPlace? { self }

    /// - Parameters:
    ///   - address: the server, with the role of the schedulers.
    ///   - key: the key that was given for the account, from which the password follows; `nil` for
    ///     a server that wants none.
    ///   - wrapsKeys: whether the account has a key of its own, which the given one wraps.
    init(
        address: ServerAddress, account: String, folder: String, key: MasterKey?,
        wrapsKeys: Bool = false
    ) throws(MasterKeyError) {
        var own = address
        own.user = ServerAccount.role(of: account, users: address.user)
        // Those who share the schedulers' password are not the ones who log in here.
        own.passwordFile = nil
        own.password = try key.map { key throws(MasterKeyError) in
            try DatabaseLogin(key).password
        }
        (self.address, self.account, self.folder) = (own, account, folder)
        self.wrapsKeys = wrapsKeys
        machineNote = ServerNote(in: folder)
    }

    func open(keyID: String) throws -> Connection {
        let connection = try connect()
        try ServerHealthSchema.schema.requireVersion(connection)
        try connection.run(HealthSchema.firstRows)
        try connection.run(ServerHealthSchema.firstRows)
        return connection
    }

    func lookout() throws -> Connection? { try connect() }

    func connect() throws(DatabaseError) -> ServerConnection {
        do {
            let connection = try ServerConnection(
                address,
                owner: .init(column: ServerHealthSchema.ownerColumn, value: account),
                writeLock: ServerHealthSchema.writeLock, schema: ServerHealthSchema.name)
            // A process that freezes must not keep others from the account for ever. And a plan is
            // kept that was made while a table was empty: by the index, which begins with the
            // account, it stays right when the table has grown. The compiler of queries would start
            // for what has no index, whose cost counts as very high then.
            try connection.execute(
                """
                SET idle_in_transaction_session_timeout = '30s';
                SET enable_seqscan = off;
                SET jit = off;
                """)
            return connection
        } catch {
            var error = error
            // The server does not tell a role that is missing from a wrong password.
            if error.kind == .access {
                error.message +=
                    "; if `clarity-jobs key rotate` has changed the master key, copy the new one to "
                    + "this machine; a new account gets its role by `clarity-jobs store migrate`"
            }
            throw error
        }
    }

    func explained(_ error: HealthStoreError) -> HealthStoreError {
        guard error.isOfOtherKey else { return error }
        // The key that is there waits to take the place of this one.
        let next =
            "\(MasterKeySource(stateDirectory: folder, environment: [:]).path)"
            + KeyFile.nextSuffix
        if access(next, F_OK) == 0 { return .rotationUnfinished(path: name) }
        if case .database = error { return error }
        return .keyReplaced(path: name)
    }

    // A session ends with its process. Numbers are drawn at random, so that nobody has another's.

    func lock(_ number: Int64, _ connection: Connection) throws -> Bool {
        try SessionMark.set("clarity-upload", "\(number)", on: connection)
        return true
    }

    func unlock(_ number: Int64, _ connection: Connection) throws {
        try SessionMark.set("clarity-jobs", "", on: connection)
    }

    func isLocked(_ number: Int64, _ connection: Connection) throws -> Bool {
        try SessionMark.isLiving("\(number)", connection)
    }

    func lockSession() throws -> AnyObject? {
        // Of a session of its own, whose transaction lasts as long as the right.
        let holder = try connect()
        try holder.execute("SET idle_in_transaction_session_timeout = 0")
        try holder.execute("BEGIN")
        return try holder.integer(ServerHealthSchema.tryingLoginLock) == 1 ? holder : nil
    }

    // The loops ask the server who is logged in.

    var marksLogins: Bool { false }

    func markLogin(_ connection: Connection) throws {
        try connection.run("SELECT pg_notify(?, '')", .text(ServerChannel.logins))
    }

    func unmarkLogin(_ connection: Connection) {}
}

/// An account of a server, as the processes of this package name it to each other.
public enum ServerAccount {
    /// The variable in which a process finds the URI of the server with the role of its account.
    public static let variable = "CLARITY_JOBS_STORE"

    /// What stands for the account of a job file without accounts.
    private static let only = "-"

    /// Returns the variables for a process that works for an account; `nil` for a job file without
    /// accounts.
    public static func variables(
        for account: AccountID?, at server: ServerAddress?
    ) -> [String: String] {
        guard var server else { return [:] }
        server.passwordFile = nil
        server.user = role(of: name(of: account), users: server.user)
        return [variable: server.uri]
    }

    static func name(of account: AccountID?) -> String { account?.rawValue ?? only }

    /// Returns the name of an account's role.
    static func role(of account: String, users: String) -> String { "\(users)/\(account)" }

    /// Returns the server and the account that an environment names; `nil` if the data is in files.
    ///
    /// - Throws: `HealthStoreError` if the variable has something else.
    static func named(
        in environment: [String: String]
    ) throws(HealthStoreError) -> (server: ServerAddress, account: String)? {
        guard let uri = environment[variable], !uri.isEmpty else { return nil }
        do throws(ServerAddressFault) {
            var server = try ServerAddress(parsing: uri)
            guard let end = server.user.lastIndex(of: "/") else {
                throw ServerAddressFault(message: "names no account")
            }
            let account = String(server.user[end...].dropFirst())
            server.user = String(server.user[..<end])
            return (server, account)
        } catch {
            throw .server("`\(variable)` \(error.message)")
        }
    }
}

extension HealthServerPlace {
    /// Returns a private copy of the account's data, which goes with its connection.
    func dryRun() -> HealthCopyPlace {
        HealthCopyPlace(original: self) {
            let source = try open(keyID: "")
            let copy = try FileConnection(path: "")
            try HealthSchema.migrations.migrate(copy)
            try source.snapshot { _ = try TableCopy(from: source, to: copy).run() }
            return copy
        } isLocked: { number in
            try isLocked(number, connect())
        } ownKey: { given in
            try ownKey(given, connect()) ?? given
        }
    }

    // The account's own key, which the server has wrapped: all machines need it, and it has to go with
    // the account's rows.

    /// Returns the account's own key, and draws it for data that begins now.
    ///
    /// Data of before has none, and neither has that of a job file without accounts.
    func key(_ given: MasterKey, _ connection: Connection) throws -> MasterKey {
        // Looked for first: whoever begins the data at this moment writes the key before it.
        let isBegun = try connection.hasRows("canary")
        if let own = try ownKey(given, connection) { return own }
        guard wrapsKeys, !isBegun else { return given }
        let drawn = try WrappedKey(MasterKey.random(), by: given)
        try connection.run(
            "INSERT INTO account_key (id, wrapped) VALUES (1, ?) ON CONFLICT (id) DO NOTHING",
            .blob(drawn.bytes))
        // Another process may have been faster.
        guard let own = try ownKey(given, connection) else {
            throw MasterKeyError.wrapped(place: name)
        }
        return own
    }

    /// Returns the account's own key; `nil` if it has none.
    func ownKey(_ given: MasterKey, _ connection: Connection) throws -> MasterKey? {
        guard wrapsKeys,
            let bytes = try connection.first("SELECT wrapped FROM account_key", map: { $0.blob(0) })
        else { return nil }
        return try WrappedKey(bytes: bytes).opened(by: given, at: name)
    }

    /// Gives data that has not begun the key of another place, from which its rows will come.
    ///
    /// - Returns: whether that is its key now.
    func adopt(_ key: MasterKey, given: MasterKey) throws -> Bool {
        let connection = try open(keyID: "")
        return try connection.transaction {
            let isBegun = try connection.hasRows("canary")
            let present = try ownKey(given, connection) ?? (isBegun || !wrapsKeys ? given : nil)
            if present?.bytes == key.bytes { return true }
            guard wrapsKeys, try !HealthStore.isBegun(connection) else { return false }
            for table in ["canary", "audit", "audit_head", "former_keys"] {
                try connection.run("DELETE FROM \(table) WHERE true")
            }
            try replaceOwnKey(by: key, given: given, connection)
            return true
        }
    }

    /// Has the account's own key be another one, which a given key wraps.
    func replaceOwnKey(by key: MasterKey, given: MasterKey, _ connection: Connection) throws {
        try connection.run(
            """
            INSERT INTO account_key (id, wrapped) VALUES (1, ?)
            ON CONFLICT (id) DO UPDATE SET wrapped = excluded.wrapped
            """, .blob(try WrappedKey(key, by: given).bytes))
    }

    /// Deletes every row of the account, in whatever tables there are, with its key.
    func erase() throws {
        let connection = try connect()
        // The tables that refer to others were made after these. `logins` follows `session`.
        let tables = try connection.all(
            """
            SELECT relname::text FROM pg_class
            JOIN pg_attribute ON attrelid = pg_class.oid AND attname = ?
            WHERE relnamespace = to_regnamespace(?) AND relkind = 'r'
                AND has_table_privilege(pg_class.oid, 'DELETE')
            ORDER BY pg_class.oid DESC
            """, .text(ServerHealthSchema.ownerColumn), .text(ServerHealthSchema.name)
        ) { $0.text(0) }
        try connection.transaction {
            // Triggers have noted what the deletions change.
            for table in tables + [CountedTable.changes] {
                try connection.run("DELETE FROM \(ServerSchema.quoted(table)) WHERE true")
            }
        }
    }
}

/// The health data on a server as a whole: who has a place in it. `ServerHealthSchema` makes it.
public enum HealthServer {
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
