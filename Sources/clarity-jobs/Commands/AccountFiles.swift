import ClarityHost
import ClarityScheduler
import Platform
import Reports
@preconcurrency import Glibc

/// `accounts add`: writes the files of accounts into the folder that the job file names.
struct AccountFiles {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    func add() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        let file = try composition.wholeJobFile()
        let known = try composition.accounts(of: file)
        guard let folder = file.accountsFolder else {
            throw CommandFailure(
                .configuration, "`accounts` of the job file is a list, which only a person edits",
                "help: add the account there, or name a folder: `accounts: accounts.d`")
        }
        var rows: [AccountTable.Row]
        if let path = arguments["from"] {
            guard arguments.operands.isEmpty, arguments["login"] == nil,
                arguments["time-zone"] == nil
            else { throw CommandFailure(.usage, "--from takes no account and no other option") }
            rows = try AccountTable.read(path)
        } else {
            let name = try composition.accountOperand(of: "accounts add")
            guard !known.contains(where: { $0.id.rawValue == name }) else {
                throw CommandFailure(.failed, "there is an account `\(name)` already")
            }
            rows = [
                AccountTable.Row(
                    id: try AccountTable.id(name), login: arguments["login"],
                    timeZone: arguments["time-zone"], place: "--time-zone")
            ]
        }
        for row in rows {
            guard let zone = row.timeZone, !composition.hasZone(zone) else { continue }
            throw CommandFailure(
                arguments["from"] == nil ? .usage : .faultyInput,
                "\(row.place): unknown time zone `\(zone)`",
                "help: \(composition.zones.remedy)")
        }
        rows.removeAll { row in known.contains { $0.id == row.id } }
        try checkReceipts(rows, file)
        try write(rows, into: folder)
        composition.console.results(
            rows.map { AddedAccount(id: $0.id, file: "\(folder)/\($0.id).yaml") },
            lines: rows.isEmpty
                ? ["every account of the table is there already"]
                : rows.map { "added \($0.id): \(folder)/\($0.id).yaml" })
        return .done
    }

    /// Deletes the file of an account.
    static func remove(_ account: String, from folder: String) throws(CommandFailure) {
        let path = "\(folder)/\(account).yaml"
        guard unlink(path) == 0 || errno == ENOENT else {
            let problem = SystemError().reason
            throw CommandFailure(.configuration, "cannot delete `\(path)`: \(problem)")
        }
    }

    /// An id is used once: whoever had it before is another person.
    private func checkReceipts(
        _ rows: [AccountTable.Row], _ file: JobFile
    ) throws(CommandFailure) {
        let state = composition.statePath(file)
        for row in rows {
            let receipt = StateDirectory.receipt(ofAccount: row.id.rawValue, in: state)
            if access(receipt, F_OK) == 0 {
                throw CommandFailure(
                    .failed,
                    "account `\(row.id)` was removed with its data before; see `\(receipt)`",
                    "help: an id is not used again; name another")
            }
        }
    }

    /// Writes the files, and takes them back if the job file has a fault with them.
    private func write(_ rows: [AccountTable.Row], into folder: String) throws(CommandFailure) {
        let jobFile = try composition.jobFilePath()
        var written: [AccountTable.Row] = []
        do throws(CommandFailure) {
            for row in rows {
                try JobFileDraft(row.yaml).publish(as: "\(folder)/\(row.id).yaml", like: jobFile)
                written.append(row)
            }
            _ = try composition.wholeJobFile()
        } catch {
            for row in written { try AccountFiles.remove(row.id.rawValue, from: folder) }
            throw error
        }
    }
}

/// An account that `accounts add` made.
struct AddedAccount: Reported {
    let id: AccountID
    let file: String

    static let report = Report<AddedAccount>([
        Column("account", "id of the new account") { $0.id.rawValue },
        Column("file", "its file") { $0.file },
    ])
}
