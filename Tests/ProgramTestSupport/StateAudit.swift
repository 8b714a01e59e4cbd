@testable import HealthStore
import Database

/// What a state directory contains while no process uses it.
struct StateAudit {
    /// What SQLite finds wrong with the two files; empty if it finds nothing.
    let damage: [String]
    /// The number of samples of the outbox in each state, those that are packed included.
    let samples: [String: Int]
    /// The reasons that the outbox gives for its samples, each once.
    let reasons: [String]
    /// The number of extra copies that the backend may have of delivered samples, as the outbox
    /// counts them.
    let possibleCopies: Int
    /// The number of runs in each state.
    let runs: [String: Int]

    /// The number of samples that the backend does not have.
    var unsent: Int {
        samples.filter { !["accepted", "confirmed", "stored"].contains($0.key) }.values.reduce(0, +)
    }

    /// The number of samples that the backend accepted, according to the outbox.
    var delivered: Int {
        ["accepted", "confirmed", "unconfirmed", "stored"].reduce(0) {
            $0 + samples[$1, default: 0]
        }
    }

    /// Reads a state directory; with an account, its data and the history of all.
    init(statePath: String, account: String? = nil) throws {
        let data = account.map { "\(statePath)/accounts/\($0)" } ?? statePath
        let health = try FileConnection(path: "\(data)/health.db", access: .readWrite)
        let history = try FileConnection(path: "\(statePath)/history.db", access: .readWrite)
        damage = try [health, history].flatMap { file in
            try file.all("PRAGMA integrity_check") { $0.text(0) }
                + file.all("SELECT \"table\" FROM pragma_foreign_key_check") {
                    "key of \($0.text(0))"
                }
        }.filter { $0 != "ok" }
        let table = try health.outboxTable()
        samples = try StateAudit.counts(table, health).merging(
            StateAudit.packed(data, health), uniquingKeysWith: +)
        reasons = try health.all(
            "SELECT DISTINCT reason FROM \(table) WHERE reason IS NOT NULL ORDER BY reason"
        ) { $0.text(0) }
        possibleCopies =
            try health.first(
                """
                SELECT coalesce(sum(doubts), 0) FROM \(table)
                WHERE state IN ('accepted', 'confirmed', 'stored', 'unconfirmed')
                """
            ) { Int($0.integer(0)) } ?? 0
        runs = try StateAudit.counts("runs", history)
    }

    /// Returns the number of samples in the outbox, read while other processes may write.
    static func outboxSize(_ statePath: String) throws -> Int {
        let health = try FileConnection(path: "\(statePath)/health.db", access: .readOnly)
        return try health.first("SELECT count(*) FROM outbox") { Int($0.integer(0)) } ?? 0
    }

    /// Returns the number of packed samples in each state. They are encrypted, so that the store
    /// has to open them.
    private static func packed(
        _ statePath: String, _ health: Connection
    ) throws -> [String: Int] {
        let packs = try health.first(
            "SELECT count(*) FROM sqlite_schema WHERE name = 'packed_totals'"
        ) { $0.integer(0) }
        guard packs == 1, try health.integer("SELECT count(*) FROM packed_totals") ?? 0 > 0 else {
            return [:]
        }
        let outbox = try HealthStore(stateDirectory: statePath, environment: [:]).outbox
        var counts: [String: Int] = [:]
        for state in [OutboxState.confirmed, .stored] {
            let count = try outbox.packedCount(OutboxSelection(state: state))
            if count > 0 { counts[state.rawValue] = Int(count) }
        }
        return counts
    }

    private static func counts(_ table: String, _ file: Connection) throws -> [String: Int] {
        let rows = try file.all("SELECT state, count(*) FROM \(table) GROUP BY state") {
            ($0.text(0), Int($0.integer(1)))
        }
        return Dictionary(uniqueKeysWithValues: rows)
    }
}

extension Connection {
    /// Returns where the state of each sample is: in the view, or in the table of an earlier version.
    func outboxTable() throws -> String {
        try first("SELECT name FROM sqlite_schema WHERE name = 'samples'") { $0.text(0) }
            ?? "outbox"
    }
}
