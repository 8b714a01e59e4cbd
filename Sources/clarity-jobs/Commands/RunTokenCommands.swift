import ClarityHost
import ClarityScheduler
import HealthStore
import Platform
import Reports

/// `serve token`: the tokens of programs that may ask the pages' server for runs of single jobs.
struct RunTokenCommands {
    private let composition: Composition
    private let serve: ServeCommand

    init(_ composition: Composition) {
        self.composition = composition
        serve = ServeCommand(composition)
    }

    /// `serve token add NAME --may run:JOB[,JOB]`: makes a token and shows it, once.
    func add() throws(CommandFailure) -> ExitStatus {
        let name = try name()
        let (file, tokens) = try tokens()
        let jobs = try jobs(in: file)
        let now = composition.clock.now
        let token = try serve.using { () throws(BackupError) in
            try tokens.add(name, mayRun: jobs, at: now)
        }
        guard let token else {
            let names = try serve.using { () throws(BackupError) in try tokens.list().map(\.name) }
            throw names.contains(name)
                ? CommandFailure(
                    .failed, "there is a token `\(name)` already",
                    "help: name another, or clarity-jobs serve token remove \(name)")
                : CommandFailure(
                    .failed,
                    "there are \(BearerTokens.most) tokens already, and no more can be added",
                    "help: clarity-jobs serve token remove NAME")
        }
        composition.console.results([token], AddedToken(name: name, token: token))
        composition.console.note(
            "this token is shown only now; send it in the header `Authorization: Bearer TOKEN`")
        return .done
    }

    /// `serve token list`: lists the tokens and the jobs of each.
    func list() throws(CommandFailure) -> ExitStatus {
        let tokens = try tokens().tokens
        let entries = try serve.using { () throws(BackupError) in try tokens.list() }
        composition.console.results(entries.map { RunToken(entry: $0) })
        return .done
    }

    /// `serve token remove NAME`: makes a token worthless at once.
    func remove() throws(CommandFailure) -> ExitStatus {
        let name = try name()
        let tokens = try tokens().tokens
        let isRemoved = try serve.using { () throws(BackupError) in try tokens.revoke(name) }
        guard isRemoved else { throw CommandFailure(.failed, "there is no token `\(name)`") }
        composition.console.results(["`\(name)` is removed"], RevokedToken(name: name))
        return .done
    }

    private func tokens() throws(CommandFailure) -> (file: JobFile, tokens: BearerTokens) {
        let (file, path) = try serve.state()
        return (file, .ofRuns(stateDirectory: path))
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
