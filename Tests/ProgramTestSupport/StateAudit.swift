import SQLite

/// What a state directory holds when no process uses it.
struct StateAudit {
    /// What SQLite finds wrong with the two files; empty when all is well.
    let damage: [String]
    /// How many samples of the outbox are in each state.
    let samples: [String: Int]
    /// Why samples are not where they should be, each reason once.
    let reasons: [String]
    /// How many copies too many the backend may have of what it took, as the outbox says.
    let possibleCopies: Int
    /// How many runs are in each state.
    let runs: [String: Int]

    /// The samples that the backend does not have.
    var unsent: Int {
        samples.filter { !["accepted", "confirmed", "stored"].contains($0.key) }.values.reduce(0, +)
    }

    /// The samples of which the outbox says that the backend took them.
    var delivered: Int {
        ["accepted", "confirmed", "unconfirmed", "stored"].reduce(0) {
            $0 + samples[$1, default: 0]
        }
    }

    init(statePath: String) throws {
        let health = try Connection(path: "\(statePath)/health.db", access: .readWrite)
        let history = try Connection(path: "\(statePath)/history.db", access: .readWrite)
        damage = try [health, history].flatMap { file in
            try file.all("PRAGMA integrity_check") { $0.text(0) }
                + file.all("SELECT \"table\" FROM pragma_foreign_key_check") {
                    "key of \($0.text(0))"
                }
        }.filter { $0 != "ok" }
        samples = try StateAudit.counts("outbox", health)
        reasons = try health.all(
            "SELECT DISTINCT reason FROM outbox WHERE reason IS NOT NULL ORDER BY reason"
        ) { $0.text(0) }
        possibleCopies =
            try health.first(
                """
                SELECT coalesce(sum(doubts), 0) FROM outbox
                WHERE state IN ('accepted', 'confirmed', 'stored', 'unconfirmed')
                """
            ) { Int($0.integer(0)) } ?? 0
        runs = try StateAudit.counts("runs", history)
    }

    /// How many samples are in the outbox, as a bystander sees it while others write.
    static func outboxSize(_ statePath: String) throws -> Int {
        let health = try Connection(path: "\(statePath)/health.db", access: .readOnly)
        return try health.first("SELECT count(*) FROM outbox") { Int($0.integer(0)) } ?? 0
    }

    private static func counts(_ table: String, _ file: Connection) throws -> [String: Int] {
        let rows = try file.all("SELECT state, count(*) FROM \(table) GROUP BY state") {
            ($0.text(0), Int($0.integer(1)))
        }
        return Dictionary(uniqueKeysWithValues: rows)
    }
}
