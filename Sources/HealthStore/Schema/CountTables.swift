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
/// Triggers write down what a transaction changes, and its end adds that to the counts
/// (`RowCounts`). In a file the triggers belong to the connection, so that only a process with the
/// key has them. The expressions call the row `it`.
struct CountedTable: Sendable {
    let name: String
    /// What a row is, in the plural.
    let noun: String
    var type = "''"
    var month = "0"
    var state = "''"
    /// Adds up to another sum for other rows.
    let weight: String
    /// The columns that the expressions read.
    let columns: [String]
    /// Whether a trigger counts insertions. It costs a fifth of the insertion of a sample, so that
    /// what inserts samples counts them itself (`Outbox.countInserted`).
    var countsInsertions = true

    /// The name of the table that holds the changes of a transaction.
    static let changes = "count_changes"
    static let changedColumns = "place, type, month, state, number, weight"

    static let all: [CountedTable] = [
        outbox,
        CountedTable(
            name: "batches", noun: "uploads", state: "it.state", weight: "it.id",
            columns: ["state"]),
        CountedTable(
            name: "packed_samples", noun: "segments of packed samples", type: "it.kind",
            month: "it.month", weight: "it.generation", columns: ["kind", "month", "generation"]),
        CountedTable(
            name: "contributions", noun: "partial aggregates of days", type: "it.kind",
            month: "it.period", weight: "it.id", columns: ["kind", "period"]),
        CountedTable(
            name: "segments", noun: "segments of records", type: "it.type", month: "it.month",
            weight: "it.generation", columns: ["type", "month", "generation"]),
        CountedTable(
            name: "pruned_months", noun: "removed months", type: "it.type", month: "it.month",
            state: "CASE WHEN it.is_back = 1 THEN 'back' ELSE '' END", weight: "it.generation",
            columns: ["type", "month", "is_back", "generation"]),
        pulled("metrics", "fetched metrics"), pulled("insights", "insights"),
        CountedTable(
            name: "archive", noun: "former versions", type: "it.type",
            month: month("it.timestamp_ms / 1000"), weight: "it.id",
            columns: ["type", "timestamp_ms"]),
    ]

    /// A sample whose value was removed has no other state any more.
    static let outbox = CountedTable(
        name: "outbox", noun: "samples", type: "it.kind", month: month("it.start_s"),
        state: "CASE WHEN it.sealed IS NULL THEN 'emptied' ELSE it.state END",
        weight: "it.start_s + 1000003 * coalesce(it.batch_id, 0)",
        columns: ["kind", "start_s", "state", "batch_id", "sealed"], countsInsertions: false)

    private static func pulled(_ name: String, _ noun: String) -> CountedTable {
        CountedTable(
            name: name, noun: noun, type: "it.type", month: month("it.timestamp_ms / 1000"),
            weight: "it.timestamp_ms / 1000", columns: ["type", "timestamp_ms"])
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

    private var sums: String {
        "\(type), \(month), \(state), count(*), CAST(sum(\(weight)) AS bigint)"
    }

    /// The statement that adds the rows with an id above a parameter to the changes.
    var additionOfNew: String {
        """
        INSERT INTO \(CountedTable.changes) (\(CountedTable.changedColumns))
        SELECT '\(name)', \(sums) FROM \(name) AS it WHERE it.id > ? GROUP BY 2, 3, 4
        """
    }

    // MARK: Triggers

    /// The statements that give a connection to a file a table for changes, and its triggers.
    static let temporary =
        """
        CREATE TEMP TABLE \(changes) (
            place TEXT NOT NULL, type TEXT NOT NULL, month INTEGER NOT NULL, state TEXT NOT NULL,
            number INTEGER NOT NULL, weight INTEGER NOT NULL
        ) STRICT;
        """ + all.map(\.temporaryTriggers).joined(separator: "\n")

    private var temporaryTriggers: String {
        let former = addition(of: "OLD", times: -1)
        let new = addition(of: "NEW", times: 1)
        let isChanged = columns.map { "NEW.\($0) IS NOT OLD.\($0)" }.joined(separator: " OR ")
        let insertion =
            countsInsertions
            ? """

            CREATE TEMP TRIGGER count_\(name)_insert AFTER INSERT ON main.\(name) BEGIN \(new) END;
            """ : ""
        return """
            CREATE TEMP TRIGGER count_\(name)_delete AFTER DELETE ON main.\(name)
            BEGIN \(former) END;
            CREATE TEMP TRIGGER count_\(name)_update
            AFTER UPDATE OF \(columns.joined(separator: ", ")) ON main.\(name)
            WHEN \(isChanged) BEGIN \(former) \(new) END;
            """ + insertion
    }

    private func addition(of row: String, times sign: Int) -> String {
        let values = [
            "'\(name)'", type, month, state, "\(sign)", "\(sign) * (\(weight))",
        ].joined(separator: ", ")
        return "INSERT INTO \(CountedTable.changes) VALUES (\(values));"
            .replacing("it.", with: "\(row).")
    }

    /// The statements that make the same on a server, where triggers belong to the table.
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
                    SELECT it.account, '\(name)', \(type), \(month), \(state),
                        \(sign)count(*), \(sign)sum(\(weight))
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
