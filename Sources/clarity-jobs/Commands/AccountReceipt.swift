import ClarityScheduler
import Platform
import JSON
import Reports

/// What was deleted when an account was removed with its data: times and counts.
///
/// Besides the history of the account's runs it is all that stays of the account on this machine.
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
