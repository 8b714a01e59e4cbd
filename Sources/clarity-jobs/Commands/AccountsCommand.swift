import ClarityHost
import Reports
import ClarityScheduler
import Platform
@preconcurrency import Glibc
import JSON

/// `accounts list` and `accounts show`. Neither opens health data.
struct AccountsCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    /// Whether the jobs of an account run.
    private enum State: String {
        case enabled
        case disabled
        /// There is data, and no such account in the job file.
        case undeclared = "not declared"
        case removed
    }

    func list() throws(CommandFailure) -> ExitStatus {
        guard composition.arguments.operands.isEmpty else {
            throw CommandFailure(.usage, "`accounts list` takes no operands")
        }
        let file = try composition.wholeJobFile()
        let (kept, removed) = try folders(file)
        var rows: [(id: String, state: State, account: AccountDeclaration?)] =
            try composition.accounts(of: file).map {
                ($0.id.rawValue, $0.isEnabled ? .enabled : .disabled, $0)
            }
        let known = Set(rows.map(\.id))
        rows += kept.subtracting(known).subtracting(removed).sorted().map { ($0, .undeclared, nil) }
        rows += removed.subtracting(known).sorted().map { ($0, .removed, nil) }
        composition.console.results(
            rows.map { row in
                [
                    "account": .string(row.id), "state": .string(row.state.rawValue),
                    "login": .text(row.account?.login),
                    "jobs": .count(row.account.map(AccountsCommand.jobCount) ?? 0),
                    "has_data": .bool(kept.contains(row.id)),
                ]
            },
            table: Table(
                heading: ["ACCOUNT", "STATE", "JOBS", "DATA", "LOGIN"],
                rows: rows.map { row in
                    [
                        row.id, row.state.rawValue,
                        row.account.map { String(AccountsCommand.jobCount($0)) } ?? "-",
                        kept.contains(row.id) ? "yes" : "none", row.account?.login ?? "-",
                    ]
                }))
        return .done
    }

    func show() throws(CommandFailure) -> ExitStatus {
        let name = try composition.accountOperand(of: "accounts show")
        let file = try composition.wholeJobFile()
        let accounts = try composition.accounts(of: file)
        let state = composition.statePath(file)
        guard let account = accounts.first(where: { $0.id.rawValue == name }) else {
            if let receipt = try AccountReceipt.read(of: name, in: state) {
                composition.console.results(receipt.lines, receipt.object)
                return .done
            }
            throw composition.noAccount(name, in: accounts)
        }
        let folder = composition.dataPath(of: account.id, file)
        let status = try StatusAllCommand(composition).status(of: account, file)
        let jobs = account.jobs.map(\.id).filter { !account.disabled.contains($0) }
        let sources = AccountsCommand.sources(account)
        let zone = SourceCommands.timeZone(in: file.view(of: account))
        let lines = [
            "account \(name)\(account.isEnabled ? "" : ", disabled")",
            "login: \(account.login ?? "none named")",
            "time zone: \(zone ?? "this machine's")",
            "sources: \(sources.isEmpty ? "none" : sources.joined(separator: ", "))",
            "jobs: \(jobs.map(\.rawValue).joined(separator: ", "))",
            "data: \(folder)\(access(folder, F_OK) == 0 ? "" : ", none yet")",
            status.line,
        ]
        composition.console.results(
            lines,
            [
                "account": .string(name), "enabled": .bool(account.isEnabled),
                "login": .text(account.login), "time_zone": .text(zone),
                "sources": .array(sources.map { .string($0) }),
                "jobs": .array(jobs.map { .string($0.rawValue) }), "data": .string(folder),
                "status": status.object,
            ])
        return .done
    }

    private func folders(
        _ file: JobFile
    ) throws(CommandFailure) -> (kept: Set<String>, removed: Set<String>) {
        do throws(StateDirectoryError) {
            return try StateDirectory.accounts(in: composition.statePath(file))
        } catch {
            throw CommandFailure(.unreachable, error.description)
        }
    }

    private static func jobCount(_ account: AccountDeclaration) -> Int {
        account.jobs.count - account.disabled.count
    }

    /// The kind and path of each source.
    private static func sources(_ account: AccountDeclaration) -> [String] {
        var sources: [String] = []
        while let kind = account.settings["sources.\(sources.count).kind"] {
            let path = account.settings["sources.\(sources.count).path"] ?? ""
            sources.append("\(kind) \(path)")
        }
        return sources
    }
}

extension Composition {
    /// Returns the accounts of the job file.
    func accounts(of file: JobFile) throws(CommandFailure) -> [AccountDeclaration] {
        if let accounts = file.accounts { return accounts }
        throw CommandFailure(
            .configuration, "the job file has no `accounts`",
            "help: `accounts: accounts.d` names a folder with a file for each")
    }

    /// Returns the account that a command names as its only operand.
    func accountOperand(of command: String) throws(CommandFailure) -> String {
        guard arguments.operands.count == 1, let name = arguments.operands.first, !name.isEmpty
        else {
            throw CommandFailure(
                .usage, "`\(command)` wants one account, got \(arguments.operands.count)")
        }
        return name
    }

    func noAccount(_ name: String, in accounts: [AccountDeclaration]) -> CommandFailure {
        CommandFailure(
            .missingInput,
            "no account `\(name)` in the job file"
                + didYouMean(name, among: accounts.map(\.id.rawValue)))
    }
}
