import Database

/// The authenticated counts of the rows of each type and month (`CountedTable`).
///
/// Whoever removes rows, or changes their state, without the key cannot write the count that fits.
/// What a process with the key changes is added to the counts at the end of its transaction, so
/// that a difference made by somebody else stays.
struct RowCounts {
    let connection: Connection
    let cipher: Cipher

    /// Counts whatever the connection changes from now on.
    ///
    /// - Parameter share: has the note of the audit log's end; `nil` if there is none.
    static func watch(_ connection: Connection, _ cipher: Cipher, _ share: StoreLock?) throws {
        if let file = connection as? FileConnection { file.watchRows(try RowTally(file)) }
        var trusted: Int64?
        connection.beforeCommit = { connection in
            let counts = RowCounts(connection: connection, cipher: cipher)
            try counts.add(trusting: &trusted) { head in
                try share?.note(of: connection, cipher).flatMap {
                    try AuditMark.finding($0, head, connection, cipher)
                }
            }
        }
    }

    /// Adds what the transaction has changed to the counts.
    ///
    /// A count that was changed from outside stays as it is, and so stays wrong. What triggers or
    /// keys of somebody else's may have changed, in a schema that is not this program's, is not
    /// added.
    private func add(
        trusting trusted: inout Int64?, _ finding: (AuditHead) throws -> AuditMark.Finding?
    ) throws {
        let changes = try takeChanges().filter { $0.number != 0 || $0.weight != 0 }
        guard !changes.isEmpty else { return }
        guard try isSchemaOurs(&trusted) else { return }
        var head = try AuditHead.current(connection, cipher)
        guard head.counts.generation > 0 else { return }
        head.take(try finding(head))
        let counts = try CountRow.find(changes.map(\.key), connection, cipher)
        for change in changes {
            let found = counts[change.key]
            var row = CountRow(key: change.key)
            if let found {
                guard head.counts.has(found) else { continue }
                row = found.row
            } else {
                head.counts.rows += 1
            }
            row.number += change.number
            row.weight &+= change.weight
            head.counts.take(&row)
            try row.write(connection, cipher)
        }
        try head.write(connection, cipher)
    }

    /// What has changed in a file; `nil` on a server, where a table has it.
    private var tally: RowTally? { (connection as? FileConnection)?.rowWatch as? RowTally }

    /// Returns what the transaction has changed, once.
    private func takeChanges() throws -> [CountRow] {
        if let tally { return tally.take() }
        let changes = try connection.all(
            """
            SELECT place, type, month, state, CAST(sum(number) AS bigint),
                CAST(sum(weight) AS bigint)
            FROM \(CountedTable.changes) GROUP BY place, type, month, state
            """
        ) { row in
            CountRow(
                key: .init(
                    place: row.text(0), type: row.text(1), month: row.integer(2),
                    state: row.text(3)),
                number: row.integer(4), weight: row.integer(5))
        }
        if !changes.isEmpty { try forgetChanges() }
        return changes
    }

    /// Adds what nothing else counts to the changes of the transaction.
    func note(_ key: CountRow.Key, _ number: Int64, _ weight: Int64) throws {
        if let tally { return tally.add(key, number, weight) }
        try connection.run(
            """
            INSERT INTO \(CountedTable.changes) (\(CountedTable.changedColumns))
            VALUES (?, ?, ?, ?, ?, ?)
            """, .text(key.place), .text(key.type), .integer(key.month), .text(key.state),
            .integer(number), .integer(weight))
    }

    /// Adds the rows of a table with an id above `last` to the changes of the transaction.
    func noteNew(of table: CountedTable, after last: Int64) throws {
        for row in try rows(of: table, table.queryOfNew, [.integer(last)]) {
            try note(row.key, row.number, row.weight)
        }
    }

    /// Forgets what the transaction has changed, because the counts know it already.
    func forgetChanges() throws {
        if let tally { return tally.forget() }
        try connection.run("DELETE FROM \(CountedTable.changes)")
    }

    /// Whether the schema of a file is the one that this program made. It is compared again only
    /// after a change; a server's belongs to its owner.
    private func isSchemaOurs(_ trusted: inout Int64?) throws -> Bool {
        guard let file = connection as? FileConnection else { return true }
        let version = try file.integer("PRAGMA schema_version")
        guard version != trusted else { return true }
        do throws(DatabaseError) {
            try file.requireSchema(of: HealthSchema.migrations)
        } catch {
            guard error.isDamage else { throw error }
            return false
        }
        trusted = version
        return true
    }

    /// Counts the rows of a file of an earlier version, which had no counts, as they are.
    func begin() throws {
        func isOwed() throws -> Bool {
            guard let (head, isAuthentic) = try AuditHead.read(connection, cipher) else {
                return false
            }
            return isAuthentic && head.counts.generation == 0
        }
        guard try isOwed() else { return }
        try connection.transaction {
            // Another process may have counted them in the meantime.
            if try isOwed() { try countAnew() }
        }
    }

    /// Counts the rows that are there, whatever was counted before.
    func countAnew() throws {
        try forget()
        var head = try AuditHead.current(connection, cipher)
        for (key, found) in try present() {
            var row = CountRow(key: key, number: found.number, weight: found.weight)
            head.counts.rows += 1
            head.counts.take(&row)
            try row.write(connection, cipher)
        }
        try head.write(connection, cipher)
    }

    /// Removes every count; called with the rows of all counted tables, or before they are counted
    /// anew.
    func forget() throws {
        try forgetChanges()
        try connection.run("DELETE FROM counts WHERE true")
        var head = try AuditHead.current(connection, cipher)
        head.counts.generation = max(1, head.counts.generation)
        (head.counts.rows, head.counts.sum) = (0, 0)
        head.counts.floor = head.counts.generation
        try head.write(connection, cipher)
    }

    /// Authenticates the counts with the next key, as far as they are authentic.
    func turn(to next: Cipher) throws {
        for (row, isAuthentic) in try CountRow.all(connection, cipher) where isAuthentic {
            try row.write(connection, next)
        }
    }

    /// Returns the counts of the rows that are there.
    private func present() throws -> [CountRow.Key: (number: Int64, weight: Int64)] {
        var found: [CountRow.Key: (number: Int64, weight: Int64)] = [:]
        for table in CountedTable.all {
            for row in try rows(of: table, table.query) {
                found[row.key] = (row.number, row.weight)
            }
        }
        return found
    }

    private func rows(
        of table: CountedTable, _ query: String, _ values: [Value] = []
    ) throws -> [CountRow] {
        try connection.all(query, with: values) { row in
            CountRow(
                key: CountRow.Key(
                    place: table.name, type: row.text(0), month: row.integer(1), state: row.text(2)),
                number: row.integer(3), weight: row.integer(4))
        }
    }

    /// Compares the counts with the rows that are there; call it in a snapshot.
    func prove() throws -> CountProof {
        var proof = CountProof()
        guard let (head, isAuthentic) = try AuditHead.read(connection, cipher) else {
            proof.faults = ["the head of the audit log is missing, and with it that of the counts"]
            return proof
        }
        guard isAuthentic else {
            proof.faults = ["the head of the audit log was changed, and with it that of the counts"]
            return proof
        }
        let counts = try CountRow.all(connection, cipher)
        var missing = head.counts
        var wanted: [CountRow.Key: CountRow] = [:]
        for found in counts {
            wanted[found.row.key] = found.row
            if head.counts.has(found) {
                missing.rows -= 1
                missing.sum -= found.row.generation
            } else if found.isAuthentic, found.row.generation > head.counts.generation {
                proof.isHeadOlder = true
            } else {
                proof.changed.insert(found.row.key)
            }
        }
        if proof.isHeadOlder { proof.faults.append(AuditHead.olderReason) }
        if proof.changed.isEmpty, !proof.isHeadOlder, missing.rows != 0 || missing.sum != 0 {
            proof.faults.append(
                missing.rows > 0
                    ? "\(missing.rows) counts are missing" : "older counts were put back")
        }
        var present = try present()
        for (key, row) in wanted {
            let found = present.removeValue(forKey: key) ?? (0, 0)
            guard found != (row.number, row.weight) || proof.changed.contains(key) else { continue }
            proof.differences[key] = (found.number, row.number)
        }
        for (key, found) in present { proof.differences[key] = (found.number, 0) }
        return proof
    }
}

/// What contradicts the counts of rows.
struct CountProof {
    /// What is wrong with the counts themselves, as sentences.
    var faults: [String] = []
    /// The counts that this key did not make.
    var changed: Set<CountRow.Key> = []
    /// How many rows there are, and how many were counted. If both are the same, the rows are other
    /// ones, or the count was changed.
    var differences: [CountRow.Key: (got: Int64, wanted: Int64)] = [:]
    fileprivate var isHeadOlder = false
}

extension AuditHead.Counts {
    /// Whether a stored count can be one of these.
    fileprivate func has(_ found: (row: CountRow, isAuthentic: Bool)) -> Bool {
        found.isAuthentic && found.row.generation > floor && found.row.generation <= generation
    }

    /// Gives a count that is written the next generation.
    fileprivate mutating func take(_ row: inout CountRow) {
        generation += 1
        sum += generation - row.generation
        row.generation = generation
    }
}
