import ClarityHost
import HealthStore
import Reports
import ClarityScheduler
import Platform
import Database

/// `store copy`: takes a state from files into a database, or back.
struct StoreCopyCommand {
    private enum Direction: String, CaseIterable { case database, files }

    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

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
