import ClarityHost
public import HealthStore
public import Reports
import ClarityScheduler
import Platform
@preconcurrency import Glibc

/// `receive`, which takes pushes in a program of its own, and `receive token`.
struct ReceiveCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    func run() throws(CommandFailure) -> Never {
        let arguments = composition.arguments
        let file = try composition.jobFile()
        let source = try source(file)
        let state = try composition.dataPath(file)
        // All that it needs of the state directory; the unit hides the rest, and whose it is.
        try composition.requireOwn(BearerTokens.ofPushes(stateDirectory: state).folder, file)
        var words = [
            "receive", source.path, source.beneath, state,
            arguments["listen"] ?? "127.0.0.1:9188",
        ]
        switch (arguments["certificate"], arguments["private-key"]) {
        case (nil, nil): break
        case (let certificate?, let key?): words += [certificate, key].map(composition.absolute)
        default:
            throw CommandFailure(
                .usage, "`receive` wants both --certificate and --private-key, or none")
        }
        // The receiver needs no key.
        let environment = composition.commandEnvironment(file)
        for name in composition.environment.keys where environment[name] == nil { unsetenv(name) }
        try composition.exec("clarity-jobs-web", words, for: nil)
    }

    /// Returns the folder of the source whose files are deleted after reading, and the folder below
    /// which no link to it is followed; empty without accounts.
    private func source(
        _ file: JobFile
    ) throws(CommandFailure) -> (path: String, beneath: String) {
        let folders = try readingSections { () throws(Failure) in try file.sections.sources }
            .filter { $0.isDeletedWhenRead == true }
        guard folders.count == 1, let folder = folders.first else {
            throw CommandFailure(
                .configuration,
                "the job file has \(folders.isEmpty ? "no source" : "\(folders.count) sources") "
                    + "with `delete_after_reading: true`; `receive` wants one",
                "help: sources: [{ kind: health-auto-export, path: FOLDER, "
                    + "delete_after_reading: true }]")
        }
        return (folder.path, folder.root ?? "")
    }

    // MARK: Tokens

    func addToken() throws(CommandFailure) -> ExitStatus {
        let name = try tokenName()
        let token = try usingTokens { tokens throws(BackupError) in
            try tokens.add(name, at: composition.clock.now)
        }
        guard let token else {
            let names = try usingTokens { tokens throws(BackupError) in try tokens.list() }.map(
                \.name)
            throw names.contains(name)
                ? CommandFailure(
                    .failed, "there is a token `\(name)` already",
                    "help: name another, or clarity-jobs receive token revoke \(name)")
                : CommandFailure(
                    .failed,
                    "there are \(BearerTokens.most) tokens already, and no more can be added",
                    "help: clarity-jobs receive token revoke NAME")
        }
        composition.console.results([token], AddedToken(name: name, token: token))
        composition.console.note("this token is shown only now; send it in the header `x-api-key`")
        return .done
    }

    func listTokens() throws(CommandFailure) -> ExitStatus {
        let entries = try usingTokens { tokens throws(BackupError) in try tokens.list() }
        composition.console.results(entries)
        return .done
    }

    func revokeToken() throws(CommandFailure) -> ExitStatus {
        let name = try tokenName()
        let isRevoked = try usingTokens { tokens throws(BackupError) in try tokens.revoke(name) }
        guard isRevoked else { throw CommandFailure(.failed, "there is no token `\(name)`") }
        composition.console.results(["`\(name)` is revoked"], RevokedToken(name: name))
        return .done
    }

    private func tokenName() throws(CommandFailure) -> String {
        let operands = composition.arguments.operands
        guard operands.count == 1, let name = operands.first, BearerTokens.isName(name) else {
            throw CommandFailure(
                .usage,
                "`\(composition.arguments.path.joined(separator: " "))` wants one name of letters, "
                    + "digits, `-`, `_` and `.`")
        }
        return name
    }

    private func usingTokens<Result>(
        _ body: (BearerTokens) throws(BackupError) -> Result
    ) throws(CommandFailure) -> Result {
        let path = try composition.ownData(try composition.jobFile())
        do throws(StateDirectoryError) {
            _ = try StateDirectory(path: path)
        } catch {
            throw CommandFailure(error.isDisk ? .disk : .unreachable, error.description)
        }
        do throws(BackupError) {
            return try body(BearerTokens.ofPushes(stateDirectory: path))
        } catch {
            throw CommandFailure(error.isDisk ? .disk : .configuration, error.description)
        }
    }
}

/// The result of `receive token add`.
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

/// The result of `receive token revoke`.
struct RevokedToken: Reported {
    let name: String

    static let report = Report<RevokedToken>([Column("name", "name of the token") { $0.name }])
}
