import ClarityScheduler
import Database

/// A fact of an account as a row of `account_facts`.
enum FactRow {
    /// Replaces the facts of an account, unless those that are known are newer.
    ///
    /// Two jobs of an account may end in the order in which they did not look. Known facts from
    /// after `now` are of a clock that was set back since, and are replaced.
    static func put(
        _ facts: [AttemptFact], of account: AccountID?, at now: Instant, _ connection: Connection
    ) throws(DatabaseError) {
        let name = Value.text(account?.rawValue ?? "")
        let known =
            try connection.first(
                "SELECT max(at_ms) FROM account_facts WHERE account = ?", name
            ) { $0.optionalInstant(0) } ?? nil
        if let known, known <= now, let newest = facts.map(\.at).max(), newest < known { return }
        try connection.run("DELETE FROM account_facts WHERE account = ?", name)
        for fact in facts {
            try connection.run(
                "INSERT INTO account_facts (account, name, value, at_ms) VALUES (?, ?, ?, ?)",
                name, .text(fact.name), .integer(fact.value), .instant(fact.at))
        }
    }
}
