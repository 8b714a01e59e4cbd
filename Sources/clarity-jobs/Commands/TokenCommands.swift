import ClarityHost
import ClarityScheduler
public import HealthStore
import Platform
public import Reports

/// `receive token` and `serve token`: the tokens of programs that push data, and of those that may ask
/// the pages' server for runs of single jobs.
struct TokenCommands {
    /// What the tokens are for.
    enum Purpose {
        case pushes, runs

        /// The command that makes a token worthless at once, and what it then is.
        var removal: (command: String, result: String) {
            self == .pushes
                ? ("receive token revoke", "revoked") : ("serve token remove", "removed")
        }

        /// The header in which programs send a token.
        var header: String { self == .pushes ? "x-api-key" : "Authorization: Bearer TOKEN" }
    }

    private let composition: Composition
    private let purpose: Purpose
    private let serve: ServeCommand

    init(_ composition: Composition, for purpose: Purpose) {
        self.composition = composition
        self.purpose = purpose
        serve = ServeCommand(composition)
    }

    /// `add NAME`, for runs with `--may run:JOB[,JOB]`: makes a token and shows it, once.
    func add() throws(CommandFailure) -> ExitStatus {
        let name = try name()
        let (file, tokens) = try tokens()
        let jobs = purpose == .runs ? try jobs(in: file) : []
        let now = composition.clock.now
        let token = try serve.using { () throws(BackupError) in
            try tokens.add(name, mayRun: jobs, at: now)
        }
        guard let token else {
            let names = try serve.using { () throws(BackupError) in try tokens.list().map(\.name) }
            let removal = "clarity-jobs \(purpose.removal.command)"
            throw names.contains(name)
                ? CommandFailure(
                    .failed, "there is a token `\(name)` already",
                    "help: name another, or \(removal) \(name)")
                : CommandFailure(
                    .failed,
                    "there are \(BearerTokens.most) tokens already, and no more can be added",
                    "help: \(removal) NAME")
        }
        composition.console.results([token], AddedToken(name: name, token: token))
        composition.console.note(
            "this token is shown only now; send it in the header `\(purpose.header)`")
        return .done
    }

    /// `list`: lists the tokens, and the jobs that each may run.
    func list() throws(CommandFailure) -> ExitStatus {
        let tokens = try tokens().tokens
        let entries = try serve.using { () throws(BackupError) in try tokens.list() }
        switch purpose {
        case .pushes: composition.console.results(entries)
        case .runs: composition.console.results(entries.map { RunToken(entry: $0) })
        }
        return .done
    }

    /// `revoke NAME` or `remove NAME`: makes a token worthless at once.
    func remove() throws(CommandFailure) -> ExitStatus {
        let name = try name()
        let tokens = try tokens().tokens
        let isRemoved = try serve.using { () throws(BackupError) in try tokens.revoke(name) }
        guard isRemoved else { throw CommandFailure(.failed, "there is no token `\(name)`") }
        composition.console.results(
            ["`\(name)` is \(purpose.removal.result)"], RevokedToken(name: name))
        return .done
    }

    private func tokens() throws(CommandFailure) -> (file: JobFile, tokens: BearerTokens) {
        switch purpose {
        case .pushes:
            let file = try composition.jobFile()
            let path = try composition.ownData(file)
            try serve.make(path)
            return (file, .ofPushes(stateDirectory: path))
        case .runs:
            let (file, path) = try serve.state()
            return (file, .ofRuns(stateDirectory: path))
        }
    }

    private func name() throws(CommandFailure) -> String {
        let operands = composition.arguments.operands
        guard operands.count == 1, let name = operands.first, BearerTokens.isName(name) else {
            throw CommandFailure(
                .usage,
                "`\(composition.arguments.path.joined(separator: " "))` wants one name of letters, "
                    + "digits, `-`, `_` and `.`")
        }
        return name
    }

    private func jobs(in file: JobFile) throws(CommandFailure) -> [JobID] {
        var names: [String] = []
        for grant in composition.arguments.all("may") {
            let words = grant.hasPrefix("run:") ? grant.dropFirst(4).split(separator: ",") : []
            guard !words.isEmpty else {
                throw CommandFailure(
                    .usage, "--may is `run:JOB` or `run:JOB,JOB`, got `\(grant.printable)`")
            }
            names += words.map(String.init)
        }
        guard !names.isEmpty else {
            throw CommandFailure(
                .usage, "`serve token add` wants --may run:JOB: a token may run these jobs alone")
        }
        return try composition.jobs(named: names, in: file)
    }
}

/// The result of `receive token add` and `serve token add`.
struct AddedToken: Reported {
    let name: String
    let token: String

    static let report = Report<AddedToken>([
        Column("name", "name of the token") { $0.name },
        Column("token", "the token, which nothing shows again") { $0.token },
    ])
}

extension BearerTokens.Entry: Reported {
    public static let report = Report<BearerTokens.Entry>([
        Column("name", "name of the token") { $0.name }.shown("NAME"),
        Column("added_at", "when the token was added") { $0.madeAt }.shown("ADDED"),
    ])
}

/// The result of `receive token revoke` and `serve token remove`.
struct RevokedToken: Reported {
    let name: String

    static let report = Report<RevokedToken>([Column("name", "name of the token") { $0.name }])
}

/// A token, and the jobs that it may run.
struct RunToken: Reported {
    let entry: BearerTokens.Entry

    static let report = Report<RunToken>([
        Column("name", "name of the token") { $0.entry.name }.shown("NAME"),
        Column("added_at", "when the token was added") { $0.entry.madeAt }.shown("ADDED"),
        Column("jobs", "ids of the jobs that it may run") { $0.entry.jobs }
            .shown("MAY RUN") { $0.entry.jobs.joined(separator: ", ") },
    ])
}
