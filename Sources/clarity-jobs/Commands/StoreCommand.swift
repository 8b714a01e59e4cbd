import ClarityHost
import HealthStore
import Reports
import ClarityScheduler
import Platform
import Database

/// `store init`, `store migrate` and `store status`.
struct StoreCommand: ComposedCommand {
    let composition: Composition

    func make() throws(CommandFailure) -> ExitStatus {
        let (file, server) = try place()
        let users = server.user
        let groups = [
            StoreCommand.role(users, "LOGIN"),
            StoreCommand.role(ServerHealthSchema.accountsRole(of: users), "NOLOGIN"),
        ]
        return try carryOut(
            groups + [
                ServerHistory.statements(users: users), ServerHealthSchema.statements(users: users),
            ] + accountRoles(file, users), server)
    }

    func migrate() throws(CommandFailure) -> ExitStatus {
        let (file, server) = try place()
        let users = server.user
        return try carryOut(
            [
                ServerHistory.schema.upgrade(users: users),
                ServerHealthSchema.schema.upgrade(users: users),
            ] + accountRoles(file, users), server)
    }

    // MARK: Statements

    /// Shows the statements, and runs them if that is asked for.
    private func carryOut(
        _ statements: [String], _ server: ServerAddress
    ) throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        let script = (["BEGIN;"] + statements + ["COMMIT;"]).joined(separator: "\n")
        script.split(separator: "\n").forEach { composition.console.result(String($0)) }
        guard arguments.has("apply") else {
            guard arguments["owner"] == nil else {
                throw CommandFailure(
                    .usage, "--owner says as whom to run the statements with --apply")
            }
            return .done
        }
        var owned = server
        if let owner = arguments["owner"] { owned.user = owner }
        try using(owned) { () throws(DatabaseError) in
            try ServerConnection(owned).execute(script)
        }
        return .done
    }

    private func accountRoles(
        _ file: JobFile, _ users: String
    ) throws(CommandFailure) -> [String] {
        let views =
            file.accounts.map { accounts in
                accounts.map { file.view(of: $0) }
            } ?? [file]
        return try views.map { view throws(CommandFailure) in
            let environment = try composition.keyEnvironment(view)
            let folder = try composition.ownData(view)
            let verifier = try usingHealthData { () throws(HealthStoreError) in
                try HealthServer.passwordVerifier(
                    stateDirectory: folder, environment: environment)
            }
            let role = HealthServer.role(of: view.account?.id, users: users)
            let members = ServerSchema.quoted(ServerHealthSchema.accountsRole(of: users))
            return StoreCommand.role(role, "LOGIN") + "\n"
                + "ALTER ROLE \(ServerSchema.quoted(role)) PASSWORD \(ServerSchema.literal(verifier));\n"
                + "GRANT \(members) TO \(ServerSchema.quoted(role));"
        }
    }

    /// Returns the statement that makes a role unless it exists.
    private static func role(_ name: String, _ login: String) -> String {
        """
        DO $$ BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = \(ServerSchema.literal(name))) THEN
                CREATE ROLE \(ServerSchema.quoted(name)) \(login);
            END IF;
        END $$;
        """
    }

    // MARK: The status

    func status() throws(CommandFailure) -> ExitStatus {
        let (file, server) = try place()
        let accounts: [AccountID?] = file.accounts?.map(\.id) ?? [nil]
        let status = try using(server) { () throws(DatabaseError) in
            try ServerStatus(
                at: server,
                roles: accounts.map { HealthServer.role(of: $0, users: server.user) })
        }
        composition.console.results(status.lines, status)
        return status.isReady ? .done : .failed
    }

    // MARK: The server

    func place() throws(CommandFailure) -> (JobFile, ServerAddress) {
        guard composition.arguments.operands.isEmpty else {
            throw CommandFailure(.usage, "`store` takes no operands")
        }
        let file = try composition.wholeJobFile()
        guard let server = file.server(composition.environment) else {
            throw CommandFailure(
                .configuration, "the job file has no `store.url`: the state is in files",
                "help: name a database as `store: { url: postgresql://USER@HOST/DATABASE }`")
        }
        return (file, server)
    }

    private func using<Result>(
        _ server: ServerAddress, _ body: () throws(DatabaseError) -> Result
    ) throws(CommandFailure) -> Result {
        do {
            return try body()
        } catch {
            let status: ExitStatus = error.kind == .gone ? .unreachable : .configuration
            throw CommandFailure(status, "cannot use `\(server)`: \(error)")
        }
    }
}

/// What a database has of this program's state.
struct ServerStatus {
    private let server: ServerAddress
    private let release: String
    private let versions: [(name: String, found: Int?, known: Int)]
    private let loops: [RunningLoop]
    private let missing: [String]

    /// - Parameter roles: the roles that there have to be.
    init(at server: ServerAddress, roles: [String]) throws(DatabaseError) {
        self.server = server
        let connection = try ServerConnection(server)
        release = try connection.first("SHOW server_version") { $0.text(0) } ?? ""
        versions = [
            (
                "history", try ServerHistory.schema.version(of: connection),
                ServerHistory.schema.version
            ),
            (
                "health data", try ServerHealthSchema.schema.version(of: connection),
                ServerHealthSchema.schema.version
            ),
        ]
        loops =
            versions[0].found == versions[0].known ? try ServerHistory.loops(connection) : []
        let known = Set(try connection.all("SELECT rolname::text FROM pg_roles") { $0.text(0) })
        missing = roles.filter { !known.contains($0) }
    }

    var isReady: Bool {
        versions.allSatisfy { $0.found == $0.known } && missing.isEmpty && !loops.isLeaderless
    }

    var lines: [String] {
        var lines = ["\(server), PostgreSQL \(release)"]
        for version in versions {
            let found = version.found.map { "version \($0)" } ?? "not there"
            let advice =
                version.found == version.known
                ? ""
                : version.found.map { $0 > version.known } == true
                    ? ", this program knows \(version.known)"
                    : "; make it with `clarity-jobs store \(version.found == nil ? "init" : "migrate")`"
            lines.append("\(version.name): \(found)\(advice)")
        }
        lines += loops.map(\.words)
        if loops.isEmpty { lines.append("no loop is connected") }
        if loops.isLeaderless { lines.append("no loop decides: each waits for another one") }
        if !missing.isEmpty {
            let names = missing.prefix(5).map { "`\($0)`" }.joined(separator: ", ")
            lines.append(
                "\(counted(missing.count, "roles")) missing (\(names)); make them with `clarity-jobs "
                    + "store migrate`")
        }
        return lines
    }
}

extension ServerStatus: Reported {
    static let report = Report<ServerStatus>([
        Column("url", "the database") { "\($0.server)" },
        Column("server_version", "version of PostgreSQL") { $0.release },
        Column("history_version", "version of the history's tables") { $0.versions[0].found },
        Column("health_version", "version of the health data's tables") { $0.versions[1].found },
        Column("loops", "the running loops") { $0.loops },
        Column("missing_roles", "roles that accounts of the job file lack") { $0.missing },
    ])
}

/// `store copy`: takes a state from files into a database, or back.
struct StoreCopyCommand: ComposedCommand {
    private enum Direction: String, CaseIterable { case database, files }

    let composition: Composition

    func run() throws(CommandFailure) -> ExitStatus {
        let direction = try self.direction()
        let (file, server) = try StoreCommand(composition).place()
        let directory = try composition.ownState(file)
        let history = try askingStore { () throws(RunStoreError) in
            try HistoryCopy(inDirectory: directory, and: server)
        }
        var parts: [(name: String, outcome: TableCopy.Outcome)] = [
            (
                "history",
                try askingStore { () throws(RunStoreError) in
                    switch direction {
                    case .database: try history.intoServer()
                    case .files: try history.intoFile()
                    }
                }
            )
        ]
        let views =
            file.accounts.map { accounts in
                accounts.map { file.view(of: $0) }
            } ?? [file]
        // Without its history, nothing is moved.
        for view in views where parts[0].outcome != .occupied {
            let name = view.account?.id.rawValue ?? "health data"
            parts.append((name, try move(view, direction)))
        }
        composition.console.results(
            parts.map { "\($0.name): \(Self.words($0.outcome))" },
            CopiedStore(to: direction.rawValue, parts: parts.map(CopiedStore.Part.init)))
        guard !parts.contains(where: { $0.outcome == .occupied }) else {
            throw CommandFailure(
                .failed, "what the new place has of its own was left as it is",
                "help: copy into an empty database, or into an empty `store.directory` with a copy of "
                    + "the master key")
        }
        composition.console.note(
            direction == .database
                ? "the files stay as they are, but for the login, which is in the database now"
                : "the database stays as it is, but for the login; remove `store.url` from the job "
                    + "file now")
        return .done
    }

    private func direction() throws(CommandFailure) -> Direction {
        guard let wanted = composition.arguments["to"], let direction = Direction(rawValue: wanted)
        else {
            throw CommandFailure(
                .usage,
                "--to wants `database` or `files`, got "
                    + (composition.arguments["to"].map { "`\($0)`" } ?? "nothing"))
        }
        return direction
    }

    private func move(
        _ view: JobFile, _ direction: Direction
    ) throws(CommandFailure) -> TableCopy.Outcome {
        let remote = try composition.keyEnvironment(view)
        var local = remote
        local[ServerAccount.variable] = nil
        let folder = try composition.ownData(view)
        // Opening a place without data begins it, with a key that the other place may not have.
        guard direction == .files || HealthStore.exists(in: folder, environment: local) else {
            return .empty
        }
        return try usingHealthData { () throws(HealthStoreError) in
            let (files, server) = try HealthStore.both(
                stateDirectory: folder, environment: remote,
                from: direction == .database ? .files : .server,
                actor: AuditActor(program: "store copy"))
            return switch direction {
            case .database: try files.move(to: server)
            case .files: try server.move(to: files)
            }
        }
    }

    // MARK: Output

    private static func words(_ outcome: TableCopy.Outcome) -> String {
        switch outcome {
        case .empty: "nothing to copy"
        case .copied(let rows): "\(counted(rows, "rows")) copied, and found the same in both places"
        case .same: "copied before, and the same in both places"
        case .occupied: "not copied: the new place has data of its own"
        }
    }
}

/// The result of `store copy`.
struct CopiedStore: Reported {
    let to: String
    let parts: [Part]

    static let report = Report<CopiedStore>([
        Column("to", "the new place: `database` or `files`") { $0.to },
        Column("parts", "what became of each part") { $0.parts },
    ])

    struct Part: Reported {
        let name: String
        let outcome: TableCopy.Outcome

        private var word: String {
            switch outcome {
            case .empty: "empty"
            case .copied: "copied"
            case .same: "same"
            case .occupied: "occupied"
            }
        }

        private var rows: Int64? { if case .copied(let rows) = outcome { rows } else { nil } }

        static let report = Report<Part>([
            Column("name", "`history`, an account, or `health data`") { $0.name },
            Column("outcome", "`copied`, `same`, `empty` or `occupied`") { $0.word },
            Column("rows", "number of rows that were copied") { $0.rows },
        ])
    }
}
