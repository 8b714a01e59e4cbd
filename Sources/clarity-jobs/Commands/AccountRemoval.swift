import ClarityHost
import HealthStore
import ClarityScheduler
import Platform
import Database
@preconcurrency import Glibc
import JSON
import Reports

/// `accounts remove`: ends an account, and with `--wipe` deletes its data.
///
/// The steps are in an order in which a kill between any two loses nothing, and the same command
/// again does the rest: the account's file goes first, so that its jobs are planned no more; then
/// the data, in one transaction after which nobody who has it open writes anything; then the
/// receipt is kept, after which nobody opens the folder. Then go the texts in the history, all that
/// a server still has of the account, its keys, and last its folder; only then does the receipt say
/// so.
struct AccountRemoval: ComposedCommand {
    let composition: Composition

    func run() throws(CommandFailure) -> ExitStatus {
        let name = try composition.accountOperand(of: "accounts remove")
        let file = try composition.wholeJobFile()
        let state = try composition.ownState(file)
        let accounts = try composition.accounts(of: file)
        let declared = accounts.first { $0.id.rawValue == name }
        guard let id = declared?.id ?? AccountID(name) else {
            throw composition.noAccount(name, in: accounts)
        }
        let folder = composition.dataPath(of: id, file)
        let isWipe = composition.arguments.has("wipe")
        let view = file.view(of: declared ?? AccountDeclaration(id: id))
        let receipt = isWipe ? try AccountReceipt.read(of: name, in: state) : nil
        var hasData = access(folder, F_OK) == 0
        if !hasData, isWipe, receipt == nil, declared == nil {
            hasData = try isKeptOnServer(folder, view)
        }
        guard declared != nil || isWipe && hasData || receipt?.isFinished == false else {
            guard let receipt else { throw composition.noAccount(name, in: accounts) }
            composition.console.results(receipt.lines, receipt.result)
            return .done
        }
        if declared != nil, file.accountsFolder == nil {
            throw CommandFailure(
                .configuration, "account `\(name)` is in the list `accounts` of the job file",
                "help: delete it there, then `clarity-jobs accounts remove \(name) --wipe` deletes "
                    + "its data")
        }
        if isWipe { try askFirst(id, hasData) }
        if declared != nil, let accountsFolder = file.accountsFolder {
            try AccountFiles.remove(name, from: accountsFolder)
        }
        try endSessions(of: id, state)
        guard isWipe else {
            composition.console.results(
                ["account \(name) was removed" + (hasData ? "; its data stays in \(folder)" : "")],
                RemovedAccount(account: name, receipt: nil))
            return .done
        }
        return try wipe(id, folder, state, view)
    }

    /// Ends the sessions of the account's wearer with the pages.
    private func endSessions(of id: AccountID, _ state: String) throws(CommandFailure) {
        let now = composition.clock.now
        do throws(BackupError) {
            _ = try PageSessions(stateDirectory: state).end(at: now) { $0.account == id.rawValue }
        } catch {
            throw CommandFailure(ofBackup: error)
        }
    }

    private func askFirst(_ id: AccountID, _ hasData: Bool) throws(CommandFailure) {
        guard !composition.arguments.has("yes"), hasData else { return }
        guard let terminal = Terminal() else {
            throw CommandFailure(
                .usage, "there is no terminal to ask on whether to delete the data of `\(id)`",
                "help: --yes deletes it without a question")
        }
        guard terminal.agrees(to: "Delete account \(id) and all its data on this machine? [y/N] ")
        else { throw CommandFailure(.failed, "nothing was done") }
    }

    private func wipe(
        _ id: AccountID, _ folder: String, _ state: String, _ view: JobFile
    ) throws(CommandFailure) -> ExitStatus {
        let status: ExitStatus
        var receipt: AccountReceipt
        if let known = try AccountReceipt.read(of: id.rawValue, in: state) {
            // A removal that was cut short had kept its receipt.
            (receipt, status) = (known, .done)
        } else {
            (receipt, status) = try empty(id, folder, view)
            try receipt.keep(in: state)
        }
        try eraseTexts(id, view)
        try eraseOnServer(id, folder, view)
        try usingBackups {
            try HealthStore.destroyKeys(in: folder)
            try DurableFile.removeFolder(folder)
        }
        receipt.isFinished = true
        try receipt.keep(in: state)
        composition.console.results(receipt.lines, receipt.result)
        return status
    }

    /// Removes from the history what the programs of the account's jobs wrote.
    private func eraseTexts(_ id: AccountID, _ view: JobFile) throws(CommandFailure) {
        let state: StateDirectory
        do throws(StateDirectoryError) {
            state = try StateDirectory(path: composition.statePath(view))
        } catch {
            throw CommandFailure(.configuration, error.description)
        }
        try askingStore { () throws(RunStoreError) in
            try AccountErasure(of: view, in: state, environment: composition.environment)?
                .run(of: id, sources: view.sections.sourcePaths, at: composition.clock.now)
        }
    }

    /// Deletes all rows that a server has of the account, with its key.
    private func eraseOnServer(
        _ id: AccountID, _ folder: String, _ view: JobFile
    ) throws(CommandFailure) {
        guard view.server != nil else { return }
        let environment = try composition.keyEnvironment(view)
        try usingHealthData { () throws(HealthStoreError) in
            try HealthServer.erase(stateDirectory: folder, environment: environment)
        }
        try composition.removeDeletedRows(of: view)
    }

    /// Whether a server has data of an account that is not declared, because its removal was cut
    /// short.
    private func isKeptOnServer(_ folder: String, _ view: JobFile) throws(CommandFailure) -> Bool {
        guard view.server != nil, let environment = try environmentIfKeyed(view) else {
            return false
        }
        do throws(HealthStoreError) {
            return try HealthServer.hasData(stateDirectory: folder, environment: environment)
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Logs the account out, deletes what its database has, and returns the receipt.
    private func empty(
        _ id: AccountID, _ folder: String, _ view: JobFile
    ) throws(CommandFailure) -> (AccountReceipt, ExitStatus) {
        var receipt = AccountReceipt(
            account: id.rawValue, removedAt: composition.clock.now, counts: [:])
        guard HealthStore.exists(in: folder, environment: composition.environment(of: view)) else {
            return (receipt, .done)
        }
        guard let environment = try environmentIfKeyed(view), try opens(folder, environment) else {
            Console.fault(
                "clarity-jobs: no key opens the data of `\(id)`: it is deleted uncounted, and the "
                    + "backend's session ends by itself")
            receipt.counts = nil
            return (receipt, .done)
        }
        let logout = try AuthCommand(composition).endForGood(view, environment)
        let status = ExitStatus(rawValue: logout.status) ?? .internalFault
        let store = try store(folder, environment)
        guard try !usingHealthData({ () throws(HealthStoreError) in try store.hasUserData() })
        else {
            // Nothing is lost: the account's file is gone, and the same command goes on.
            throw CommandFailure(
                status == .done ? .internalFault : status,
                "the data of `\(id)` was not deleted: "
                    + (logout.errors.split(separator: "\n").first.map(String.init)
                        ?? "no reason given"),
                "help: `clarity-jobs accounts remove \(id) --wipe` tries again")
        }
        let hadSession = try composition.hasBackend(view) && status != .credential
        receipt.endedSession = hadSession ? status == .done : nil
        receipt.counts = try lastRemoval(store)
        // Nobody logged in is the usual state of an account that was never used.
        return (receipt, .done)
    }

    /// What the audit log says of the last removal; nothing if there was nothing to remove.
    private func lastRemoval(_ store: HealthStore) throws(CommandFailure) -> [String: Int64] {
        var counts: [String: Int64] = [:]
        var last: Int64 = 0
        while true {
            let records = try usingHealthData { () throws(HealthStoreError) in
                try store.audit.records(after: last, limit: 500)
            }
            for case let entry? in records.map(\.entry) where entry.action == .removed {
                counts = entry.counts
            }
            guard let end = records.last?.number else { return counts }
            last = end
        }
    }

    /// Returns the account's environment; `nil` if its key is gone.
    private func environmentIfKeyed(_ view: JobFile) throws(CommandFailure) -> [String: String]? {
        do throws(CommandFailure) {
            return try composition.keyEnvironment(view)
        } catch  where error.status == .configuration {
            return nil
        }
    }

    /// Whether the key opens the data; a removal must not depend on a key that is lost.
    private func opens(_ folder: String, _ environment: [String: String]) throws(CommandFailure)
        -> Bool
    {
        do throws(HealthStoreError) {
            _ = try HealthStore(stateDirectory: folder, environment: environment)
            return true
        } catch {
            switch error {
            case .lostKey, .wrongKey, .keyReplaced, .key, .damaged, .encryption, .schema:
                return false
            default: throw CommandFailure(error)
            }
        }
    }

    private func store(
        _ folder: String, _ environment: [String: String]
    ) throws(CommandFailure) -> HealthStore {
        try usingHealthData { () throws(HealthStoreError) in
            try HealthStore(
                stateDirectory: folder, environment: environment,
                actor: AuditActor(program: "accounts remove"))
        }
    }
}

extension Composition {
    /// Has a server remove deleted rows from its tables, or says who can, and where they stay.
    func removeDeletedRows(of file: JobFile) throws(CommandFailure) {
        guard let server = file.server(environment) else { return }
        let left: String
        do throws(DatabaseError) {
            left = try HealthServer.vacuum(ServerConnection(server))
        } catch {
            throw CommandFailure(
                error.kind == .gone ? .unreachable : .configuration,
                "cannot use `\(server)`: \(error)")
        }
        console.note(
            (left.isEmpty ? "" : "the tables keep deleted rows until their owner runs: \(left) ")
                + "the server's write-ahead log and its backups keep deleted rows until they expire"
        )
    }
}

/// What was deleted when an account was removed with its data: times and counts.
///
/// Besides the history of the account's runs in a file it is all that stays of the account on this
/// machine.
struct AccountReceipt {
    var account: String
    var removedAt: Instant
    /// Whether the backend ended the session; `nil` if nobody was logged in, or nobody knows.
    var endedSession: Bool?
    /// Whether everything was deleted; otherwise the same command does the rest.
    var isFinished = false
    /// The number of deleted rows of each kind; `nil` if the data could not be opened.
    var counts: [String: Int64]?

    /// Returns the receipt of an account; `nil` if there is none.
    static func read(
        of account: String, in state: String
    ) throws(CommandFailure) -> AccountReceipt? {
        // The name comes from the command line.
        guard AccountID(account) != nil else { return nil }
        let path = StateDirectory.receipt(ofAccount: account, in: state)
        guard let text = try usingBackups({ try DurableFile.text(of: path, atMost: 1 << 16) })
        else { return nil }
        // What is no JSON is no receipt either.
        guard let json = try? JSONParser.parse(Array(text.utf8)),
            let at = json["removed_at"]?.text.flatMap({ Instant(rfc3339: $0) })
        else { throw CommandFailure(.disk, "`\(path)` is damaged: it is no receipt of a removal") }
        var receipt = AccountReceipt(account: account, removedAt: at)
        if case .bool(let ended)? = json["session_ended"] { receipt.endedSession = ended }
        if case .bool(let isFinished)? = json["finished"] { receipt.isFinished = isFinished }
        if case .object(let members)? = json["removed"] {
            receipt.counts = [:]
            for member in members {
                guard case .integer(let count) = member.value else { continue }
                receipt.counts?[member.name] = count
            }
        }
        return receipt
    }

    /// Keeps the receipt. From then on nothing makes the account's folder again.
    func keep(in state: String) throws(CommandFailure) {
        try usingBackups {
            _ = try StateDirectory(path: StateDirectory.receipts(in: state))
            try DurableFile.syncNames(in: "\(state)/\(StateDirectory.accountsName)")
            try DurableFile.replace(
                StateDirectory.receipt(ofAccount: account, in: state),
                by: result.object.page + "\n")
        }
    }

    /// The result of a command that removed the account or shows that it was removed.
    var result: RemovedAccount { RemovedAccount(account: account, receipt: self) }

    var lines: [String] {
        let session = endedSession.map { $0 ? "" : "; the backend did not end the session" } ?? ""
        let rest = isFinished ? "" : "; the removal is not finished: run it again"
        let head = "account \(account) was removed at \(removedAt)\(session)\(rest)"
        guard let counts else { return ["\(head); nobody could count what it had"] }
        let kept = counts.filter { $0.value > 0 }.sorted { $0.key < $1.key }
        let width = kept.map { String($0.value).count }.max() ?? 0
        return [kept.isEmpty ? "\(head); it had no data" : "\(head), with:"]
            + kept.map { name, count in
                String(repeating: " ", count: width - String(count).count + 2)
                    + counted(count, name)
            }
    }
}

/// An account that was removed: from the job file alone, or with its data.
struct RemovedAccount: Reported {
    let account: String
    /// `nil` if its data stays.
    let receipt: AccountReceipt?

    static let report = Report<RemovedAccount>([
        Column("account", "id of the account") { $0.account },
        Column("removed_at", "when its data was removed; none if it stays") {
            $0.receipt?.removedAt
        },
        Column(
            "session_ended",
            "whether the backend ended the session; none if nobody was logged in"
        ) { $0.receipt?.endedSession },
        Column(
            "finished",
            "whether all of it is gone; otherwise the same command does the rest; none if it stays"
        ) { $0.receipt?.isFinished },
        Column(
            "removed", "number of removed entries by kind; none if no key opened the data"
        ) { $0.receipt?.counts },
    ])
}
