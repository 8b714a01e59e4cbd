extension HealthSchema {
    /// How many rows there are of each type and month.
    static let countTables = """
        -- The number of rows of each type, month and state in `place`, under a keyed hash, so that
        -- rows that somebody without the key removes are missed. `generation` and the head of the
        -- audit log tell an older count from the present one.
        CREATE TABLE counts (
            id INTEGER PRIMARY KEY,
            place TEXT NOT NULL,
            type TEXT NOT NULL,
            month INTEGER NOT NULL,
            state TEXT NOT NULL,
            number INTEGER NOT NULL,
            weight INTEGER NOT NULL,
            generation INTEGER NOT NULL,
            mac BLOB NOT NULL CONSTRAINT counts_mac CHECK (length(mac) = 32)
        ) STRICT;
        CREATE UNIQUE INDEX counts_key ON counts (place, type, month, state);
        """
}

/// A table whose rows are counted.
///
/// What a transaction changes is added to the counts at its end (`RowCounts`). Of a file, `RowTally`
/// hears of each row; on a server, triggers write it down. In the expressions of SQL, `it` is the row.
struct CountedTable: Sendable {
    let name: String
    /// What a row is, in the plural.
    let noun: String
    /// The column with the type; `nil` for a table of one type.
    var type: String?
    var month: Month?
    var state: State?
    /// Adds up to another sum for other rows.
    let weight: Weight
    /// Whether insertions are counted row by row. That costs a fifth of the insertion of a sample, so
    /// that what inserts samples counts them together (`Outbox.countInserted`).
    var countsInsertions = true

    /// The month of a row, by a column.
    enum Month: Sendable {
        /// A month since January 1970, or another period.
        case column(String)
        case seconds(String)
        case milliseconds(String)
    }

    enum State: Sendable {
        case column(String)
        /// That of a sample. One whose value was removed has no other state any more.
        case sample
        /// Whether a removed month is back.
        case removedMonth
    }

    enum Weight: Sendable {
        case column(String)
        case milliseconds(String)
        /// That of a sample, which also tells its batch.
        case sample
    }

    /// The name of a server's table that holds the changes of a transaction.
    static let changes = "count_changes"
    static let changedColumns = "place, type, month, state, number, weight"
    /// The factor of a batch in the weight of a sample.
    static let batchFactor: Int64 = 1_000_003

    static let all: [CountedTable] = [
        outbox,
        CountedTable(
            name: "batches", noun: "uploads", state: .column("state"), weight: .column("id")),
        CountedTable(
            name: "packed_samples", noun: "segments of packed samples", type: "kind",
            month: .column("month"), weight: .column("generation")),
        CountedTable(
            name: "contributions", noun: "partial aggregates of days", type: "kind",
            month: .column("period"), weight: .column("id")),
        CountedTable(
            name: "segments", noun: "segments of records", type: "type", month: .column("month"),
            weight: .column("generation")),
        CountedTable(
            name: "pruned_months", noun: "removed months", type: "type", month: .column("month"),
            state: .removedMonth, weight: .column("generation")),
        pulled("metrics", "fetched metrics"), pulled("insights", "insights"),
        CountedTable(
            name: "archive", noun: "former versions", type: "type",
            month: .milliseconds("timestamp_ms"), weight: .column("id")),
    ]

    static let outbox = CountedTable(
        name: "outbox", noun: "samples", type: "kind", month: .seconds("start_s"), state: .sample,
        weight: .sample, countsInsertions: false)

    private static func pulled(_ name: String, _ noun: String) -> CountedTable {
        CountedTable(
            name: name, noun: noun, type: "type", month: .milliseconds("timestamp_ms"),
            weight: .milliseconds("timestamp_ms"))
    }

    /// Returns the months since January 1970 of an instant in seconds, in UTC; exact from March
    /// 1968 to February 2100.
    static func month(of seconds: Int64) -> Int64 {
        let day = seconds / 86400 + 671
        let year = (4 * day + 3) / 1461
        return 12 * year + (5 * (day - 1461 * year / 4) + 2) / 153 - 22
    }

    /// Returns the same of an SQL expression, which is without functions, because the engines have
    /// different ones.
    static func month(_ seconds: String) -> String {
        let day = "(\(seconds) / 86400 + 671)"
        let year = "((4 * \(day) + 3) / 1461)"
        return "12 * \(year) + (5 * (\(day) - 1461 * \(year) / 4) + 2) / 153 - 22"
    }

    /// The query for the counts of the rows that are there: type, month, state, number, weight.
    var query: String { "SELECT \(sums) FROM \(name) AS it GROUP BY 1, 2, 3" }

    private var sums: String { "\(key), count(*), CAST(sum(\(weight.sql)) AS bigint)" }

    /// The expressions for type, month and state.
    private var key: String {
        "\(type.map { "it.\($0)" } ?? "''"), \(month?.sql ?? "0"), \(state?.sql ?? "''")"
    }

    /// The same of the rows with an id above a parameter.
    var queryOfNew: String { "SELECT \(sums) FROM \(name) AS it WHERE it.id > ? GROUP BY 1, 2, 3" }

    // MARK: Triggers

    /// The statements that make a server's table of changes and its triggers.
    ///
    /// A change of another transaction than the present one is seen by nobody, and so never
    /// counted: whoever changes rows without the key leaves the counts as they are.
    ///
    /// - Parameter owner: an SQL expression for the account of the session, and for what must hold
    ///   besides.
    static func server(schema: String, owner: String, condition: String) -> String {
        """
        CREATE UNLOGGED TABLE \(changes) (
            account text NOT NULL DEFAULT \(owner),
            transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
            place text COLLATE "C" NOT NULL, type text COLLATE "C" NOT NULL,
            month bigint NOT NULL, state text COLLATE "C" NOT NULL,
            number bigint NOT NULL, weight bigint NOT NULL
        );
        CREATE INDEX \(changes)_transaction ON \(changes) (transaction);
        ALTER TABLE \(changes) ENABLE ROW LEVEL SECURITY;
        ALTER TABLE \(changes) FORCE ROW LEVEL SECURITY;
        CREATE POLICY \(changes)_owner ON \(changes) USING (account = \(owner)
            AND \(condition) AND transaction = pg_current_xact_id_if_assigned());

        """ + all.map { $0.serverTriggers(schema) }.joined(separator: "\n")
    }

    private func serverTriggers(_ schema: String) -> String {
        func addition(_ rows: String, _ sign: String) -> String {
            """
            INSERT INTO \(schema).\(CountedTable.changes) (account, \(CountedTable.changedColumns))
                    SELECT it.account, '\(name)', \(key),
                        \(sign)count(*), \(sign)sum(\(weight.sql))
                    FROM \(rows) AS it GROUP BY 1, 2, 3, 4, 5;
            """
        }
        let events = [
            countsInsertions ? ("insert", "NEW TABLE AS new_rows") : nil,
            ("update", "OLD TABLE AS old_rows NEW TABLE AS new_rows"),
            ("delete", "OLD TABLE AS old_rows"),
        ].compactMap { $0 }
        let triggers = events.map { event, rows in
            """
            CREATE TRIGGER count_\(name)_\(event) AFTER \(event.uppercased()) ON \(name)
                REFERENCING \(rows) FOR EACH STATEMENT EXECUTE FUNCTION count_\(name)();
            """
        }
        return """
            CREATE FUNCTION count_\(name)() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF TG_OP <> 'INSERT' THEN
                    \(addition("old_rows", "-"))
                END IF;
                IF TG_OP <> 'DELETE' THEN
                    \(addition("new_rows", ""))
                END IF;
                RETURN NULL;
            END $$;
            \(triggers.joined(separator: "\n"))
            """
    }
}

// The expressions of SQL.

extension CountedTable.Month {
    fileprivate var sql: String {
        switch self {
        case .column(let name): "it.\(name)"
        case .seconds(let name): CountedTable.month("it.\(name)")
        case .milliseconds(let name): CountedTable.month("it.\(name) / 1000")
        }
    }
}

extension CountedTable.State {
    fileprivate var sql: String {
        switch self {
        case .column(let name): "it.\(name)"
        case .sample: "CASE WHEN it.sealed IS NULL THEN 'emptied' ELSE it.state END"
        case .removedMonth: "CASE WHEN it.is_back = 1 THEN 'back' ELSE '' END"
        }
    }
}

extension CountedTable.Weight {
    fileprivate var sql: String {
        switch self {
        case .column(let name): "it.\(name)"
        case .milliseconds(let name): "it.\(name) / 1000"
        case .sample: "it.start_s + \(CountedTable.batchFactor) * coalesce(it.batch_id, 0)"
        }
    }
}
