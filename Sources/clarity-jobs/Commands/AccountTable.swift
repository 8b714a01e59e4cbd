import ClarityScheduler
import Platform
@preconcurrency import Glibc

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
                value.map { "\(key): \(SetupAnswers.quoted($0))\n" }
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
