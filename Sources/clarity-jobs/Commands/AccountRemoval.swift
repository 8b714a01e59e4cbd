import ClarityHost
import ClarityJobs
import ClarityScheduler
import ClaritySystem
@preconcurrency import Glibc
import JSON

/// `accounts remove`: ends an account, and with `--wipe` deletes its data.
///
/// The steps are in an order in which a kill between any two loses nothing, and the same command
/// again does the rest: the account's file goes first, so that its jobs are planned no more; then
/// the data, in one transaction after which nobody who has it open writes anything; then the receipt
/// is kept, after which nobody opens the folder; and the folder goes last.
struct AccountRemoval {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

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
        let hasData = access(folder, F_OK) == 0
        let isWipe = composition.arguments.has("wipe")
        guard declared != nil || isWipe && hasData else {
            guard isWipe, let receipt = try AccountReceipt.read(of: name, in: state) else {
                throw composition.noAccount(name, in: accounts)
            }
            composition.console.results(receipt.lines, receipt.object)
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
                [
                    "account": .string(name), "removed_at": .null, "session_ended": .null,
                    "removed": .null,
                ])
            return .done
        }
        let view = composition.view(of: declared ?? AccountDeclaration(id: id), in: file)
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
        let receipt: AccountReceipt
        if let known = try AccountReceipt.read(of: id.rawValue, in: state) {
            // A removal that was cut short had kept its receipt.
            (receipt, status) = (known, .done)
        } else {
            (receipt, status) = try empty(id, folder, view)
            try receipt.keep(in: state)
        }
        do throws(BackupError) {
            try DurableFile.removeFolder(folder)
        } catch {
            throw CommandFailure(ofBackup: error)
        }
        composition.console.results(receipt.lines, receipt.object)
        return status
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
        receipt.endedSession = status == .credential ? nil : status == .done
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
            case .lostKey, .wrongKey, .key, .damaged, .sealing, .schema: return false
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
