import ClarityHost
import HealthStore
import Reports
import ClarityScheduler
import Platform
@preconcurrency import Glibc

/// `accounts list` and `accounts show`. Neither opens health data.
struct AccountsCommand: ComposedCommand {
    let composition: Composition

    func list() throws(CommandFailure) -> ExitStatus {
        guard composition.arguments.operands.isEmpty else {
            throw CommandFailure(.usage, "`accounts list` takes no operands")
        }
        let file = try composition.wholeJobFile()
        let (kept, removed) = try folders(file)
        func row(
            _ id: String, _ state: ListedAccount.State, _ account: AccountDeclaration?
        ) -> ListedAccount {
            ListedAccount(id: id, state: state, account: account, hasData: kept.contains(id))
        }
        var rows = try composition.accounts(of: file).map {
            row($0.id.rawValue, $0.fault != nil ? .held : $0.isEnabled ? .enabled : .disabled, $0)
        }
        let known = Set(rows.map(\.id))
        rows += kept.subtracting(known).subtracting(removed).sorted().map {
            row($0, .undeclared, nil)
        }
        rows += removed.subtracting(known).sorted().map { row($0, .removed, nil) }
        composition.console.results(rows)
        return .done
    }

    func show() throws(CommandFailure) -> ExitStatus {
        let name = try composition.accountOperand(of: "accounts show")
        let file = try composition.wholeJobFile()
        let accounts = try composition.accounts(of: file)
        let state = composition.statePath(file)
        guard let account = accounts.first(where: { $0.id.rawValue == name }) else {
            if let receipt = try AccountReceipt.read(of: name, in: state) {
                composition.console.results(receipt.lines, receipt.result)
                return .done
            }
            throw composition.noAccount(name, in: accounts)
        }
        let folder = composition.dataPath(of: account.id, file)
        let status = try StatusAllCommand(composition).status(of: account, file)
        let jobs = account.jobs.map(\.id).filter { !account.disabled.contains($0) }
        let sources = try AccountsCommand.sources(account)
        let zone = try composition.sourceZone(file.view(of: account))
        let lines = [
            "account \(name)"
                + (account.fault.map { ", held: \($0)" }
                    ?? (account.isEnabled ? "" : ", disabled")),
            "login: \(account.login ?? "none named")",
            "time zone: \(zone ?? "this machine's")",
            "sources: \(sources.isEmpty ? "none" : sources.joined(separator: ", "))",
            "jobs: \(jobs.map(\.rawValue).joined(separator: ", "))",
            "data: \(folder)\(access(folder, F_OK) == 0 ? "" : ", none yet")",
            status.line,
        ]
        composition.console.results(
            lines,
            ShownAccount(
                account: account, timeZone: zone, sources: sources, jobs: jobs, folder: folder,
                status: status))
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

    /// The kind and path of each source.
    private static func sources(
        _ account: AccountDeclaration
    ) throws(CommandFailure) -> [String] {
        try readingSections { () throws(Failure) in try account.sections.sources }
            .map { "\($0.kind.rawValue) \($0.path)" }
    }
}

/// An account that the job file has, or that has or had data here.
struct ListedAccount: Reported {
    /// Whether the jobs of an account run.
    enum State: String {
        case enabled
        case disabled
        /// The account's declaration has a fault.
        case held
        /// There is data, and no such account in the job file.
        case undeclared = "not declared"
        case removed
    }

    let id: String
    let state: State
    let account: AccountDeclaration?
    let hasData: Bool

    private var jobCount: Int? { account.map { $0.jobs.count - $0.disabled.count } }

    static let report = Report<ListedAccount>(
        [
            Column("account", "id of the account") { $0.id }.shown("ACCOUNT"),
            Column("state", "`enabled`, `disabled`, `held`, `not declared` or `removed`") {
                $0.state.rawValue
            }.shown("STATE"),
            Column("login", "email address with which it logs in") { $0.account?.login }
                .shown("LOGIN"),
            Column("fault", "the fault for which it is held") { $0.account?.fault },
            Column("jobs", "number of its jobs") { $0.jobCount ?? 0 }
                .shown("JOBS") { $0.jobCount.shown },
            Column("has_data", "whether it has a folder with data") { $0.hasData }
                .shown("DATA") { $0.hasData ? "yes" : "none" },
        ], tableOrder: ["ACCOUNT", "STATE", "JOBS", "DATA", "LOGIN"])
}

/// The result of `accounts show` for an account of the job file.
struct ShownAccount: Reported {
    let account: AccountDeclaration
    let timeZone: String?
    let sources: [String]
    let jobs: [JobID]
    let folder: String
    let status: AccountStatus

    static let report = Report<ShownAccount>([
        Column("account", "id of the account") { $0.account.id.rawValue },
        Column("enabled", "whether its jobs run") { $0.account.isEnabled },
        Column("login", "email address with which it logs in") { $0.account.login },
        Column("time_zone", "time zone of its days; none is the machine's") { $0.timeZone },
        Column("sources", "kind and path of each source") { $0.sources },
        Column("jobs", "ids of its jobs, as declared") { $0.jobs.map(\.rawValue) },
        Column("data", "folder of its data, whether it exists or not") { $0.folder },
        Column("status", "whether its data is up to date") { $0.status },
    ])
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

/// `--all`: a command for each account of the job file in turn.
struct EachAccount: ComposedCommand {
    let composition: Composition

    /// Runs `body` with what the command needs for each account, disabled ones included.
    ///
    /// A failure for one account is reported with its name and does not stop the others. In JSON,
    /// the results are one list, and each has a member `account`.
    ///
    /// - Parameter first: what is done before, for all accounts together.
    func run(
        first: (Composition) throws(CommandFailure) -> ExitStatus = { _ in .done },
        _ body: (Composition, AccountID) throws(CommandFailure) -> ExitStatus
    ) throws(CommandFailure) -> ExitStatus {
        guard composition.arguments["account"] == nil else {
            throw CommandFailure(.usage, "--all is for each account, and --account names one")
        }
        let file = try composition.wholeJobFile()
        let accounts = try composition.accounts(of: file)
        let list = composition.console.partedList()
        defer { list.end() }
        var status = try first(
            composition.working(on: file, with: composition.console.part(of: list)))
        for account in accounts {
            let console = composition.console.part(named: account.id.rawValue, of: list)
            let own = composition.working(
                on: file.view(of: account), with: console)
            do throws(CommandFailure) {
                status = status.joined(with: try body(own, account.id))
            } catch {
                error.lines.forEach { console.complain($0.namingAccount(account.id.rawValue)) }
                status = status.joined(with: error.status)
            }
            if StopSignal.received != nil { break }
        }
        return status
    }
}
