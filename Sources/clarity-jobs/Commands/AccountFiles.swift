import ClarityHost
import ClarityScheduler
import Platform
import Reports
@preconcurrency import Glibc

/// `accounts add`: writes the files of accounts into the folder that the job file names.
struct AccountFiles: ComposedCommand {
    let composition: Composition

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
            _ = try composition.wholeJobFile(holdsFaulty: false)
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

/// A table of accounts: a CSV file (RFC 4180) whose first line names its columns.
enum AccountTable {
    struct Row {
        var id: AccountID
        var login: String?
        var timeZone: String?
        /// Where the zone was named.
        var place: String

        /// The account as a file of the accounts' folder; its name says the id.
        var yaml: String {
            let keys = [("login", login), ("time_zone", timeZone)].compactMap { key, value in
                value.map { "\(key): \(ImportedFile.quoted($0))\n" }
            }
            return keys.isEmpty ? "# Everything as the job file says.\n{}\n" : keys.joined()
        }
    }

    private static let columns = ["id", "login", "time_zone"]
    /// More than a hundred thousand accounts with long addresses.
    private static let mostBytes = 64 << 20

    /// Reads a table.
    ///
    /// - Throws: `CommandFailure` for a file that cannot be read; for a column that is none of
    ///   `id`, `login` and `time_zone`; and for a line with another number of fields, a wrong id or
    ///   one that was there before.
    static func read(_ path: String) throws(CommandFailure) -> [Row] {
        let bytes: [UInt8]
        do throws(WholeFile.Fault) {
            bytes = try WholeFile.bytes(of: path, atMost: mostBytes, flags: 0)
        } catch {
            throw CommandFailure(.missingInput, "cannot read `\(path)`: \(error.words)")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(.faultyInput, "\(path): is not UTF-8")
        }
        var lines = try records(text, path)
        guard let heading = lines.first?.fields, heading.contains("id") else {
            throw CommandFailure(
                .faultyInput,
                "\(path):1: wanted a line with the columns, such as `id,login,time_zone`")
        }
        if let unknown = heading.first(where: { !columns.contains($0) }) {
            throw CommandFailure(
                .faultyInput,
                "\(path):1: unknown column `\(unknown)`"
                    + didYouMean(unknown, among: columns))
        }
        lines.removeFirst()
        var seen: Set<AccountID> = []
        var rows: [Row] = []
        for (number, fields) in lines {
            guard fields.count == heading.count else {
                throw CommandFailure(
                    .faultyInput,
                    "\(path):\(number): has \(counted(fields.count, "fields")), wanted "
                        + "\(heading.count)")
            }
            let named = Dictionary(zip(heading, fields), uniquingKeysWith: { first, _ in first })
            let id = try id(named["id"] ?? "", at: "\(path):\(number): ")
            guard seen.insert(id).inserted else {
                throw CommandFailure(.faultyInput, "\(path):\(number): `\(id)` is there twice")
            }
            func value(_ name: String) -> String? { named[name].flatMap { $0.isEmpty ? nil : $0 } }
            rows.append(
                Row(
                    id: id, login: value("login"), timeZone: value("time_zone"),
                    place: "\(path):\(number)"))
        }
        return rows
    }

    /// Returns the id that a text is.
    static func id(_ text: String, at place: String = "") throws(CommandFailure) -> AccountID {
        if let id = AccountID(text) { return id }
        throw CommandFailure(
            place.isEmpty ? .usage : .faultyInput, "\(place)account id `\(text)` is not allowed",
            "help: \(AccountID.rule)")
    }

    /// Returns the records of a CSV text with the line at which each begins, without empty lines.
    private static func records(
        _ text: String, _ path: String
    ) throws(CommandFailure) -> [(line: Int, fields: [String])] {
        var records: [(line: Int, fields: [String])] = []
        var (field, fields, line, start, isQuoted) = ("", [String](), 1, 1, false)
        func end() {
            fields.append(field)
            if fields != [""] { records.append((start, fields)) }
            (field, fields) = ("", [])
        }
        var rest = text.unicodeScalars.drop { $0 == "\u{FEFF}" }[...]
        while let next = rest.popFirst() {
            switch next {
            case "\"" where isQuoted && rest.first == "\"":
                field.unicodeScalars.append(rest.removeFirst())
            case "\"" where isQuoted || field.isEmpty: isQuoted.toggle()
            case "," where !isQuoted:
                fields.append(field)
                field = ""
            case "\r" where !isQuoted && rest.first == "\n": continue
            case "\n":
                line += 1
                guard !isQuoted else { field += "\n"; continue }
                end()
                start = line
            default: field.unicodeScalars.append(next)
            }
        }
        guard !isQuoted else {
            throw CommandFailure(.faultyInput, "\(path):\(start): a quote is not closed")
        }
        end()
        return records
    }
}

extension WholeFile.Fault {
    /// The fault in words, without the path.
    var words: String {
        switch self {
        case .refused(let code): SystemError(code: code).reason
        case .tooLarge: "it is too large"
        }
    }
}
