import Database

// The account's own key, which the server has wrapped: all machines need it, and it has to go with
// the account's rows.

extension HealthServerPlace {
    /// Returns the account's own key, and draws it for data that begins now.
    ///
    /// Data of before has none, and neither has that of a job file without accounts.
    func key(_ given: MasterKey, _ connection: Connection) throws -> MasterKey {
        // Looked for first: whoever begins the data at this moment writes the key before it.
        let isBegun = try connection.hasRows("canary")
        if let own = try ownKey(given, connection) { return own }
        guard wrapsKeys, !isBegun else { return given }
        let drawn = try WrappedKey(MasterKey.random(), by: given)
        try connection.run(
            "INSERT INTO account_key (id, wrapped) VALUES (1, ?) ON CONFLICT (id) DO NOTHING",
            .blob(drawn.bytes))
        // Another process may have been faster.
        guard let own = try ownKey(given, connection) else {
            throw MasterKeyError.wrapped(place: name)
        }
        return own
    }

    /// Returns the account's own key; `nil` if it has none.
    func ownKey(_ given: MasterKey, _ connection: Connection) throws -> MasterKey? {
        guard wrapsKeys,
            let bytes = try connection.first(
                "SELECT wrapped FROM account_key", map: { $0.blob(0) })
        else { return nil }
        return try WrappedKey(bytes: bytes).opened(by: given, at: name)
    }

    /// Gives data that has not begun the key of another place, from which its rows will come.
    ///
    /// - Returns: whether that is its key now.
    func adopt(_ key: MasterKey, given: MasterKey) throws -> Bool {
        let connection = try open(keyID: "")
        return try connection.transaction {
            let isBegun = try connection.hasRows("canary")
            let present = try ownKey(given, connection) ?? (isBegun || !wrapsKeys ? given : nil)
            if present?.bytes == key.bytes { return true }
            guard wrapsKeys, try !HealthStore.isBegun(connection) else { return false }
            for table in ["canary", "audit", "audit_head", "former_keys"] {
                try connection.run("DELETE FROM \(table) WHERE true")
            }
            try connection.run(
                """
                INSERT INTO account_key (id, wrapped) VALUES (1, ?)
                ON CONFLICT (id) DO UPDATE SET wrapped = excluded.wrapped
                """, .blob(try WrappedKey(key, by: given).bytes))
            return true
        }
    }

    /// Deletes every row of the account, in whatever tables there are, with its key.
    func erase() throws {
        let connection = try connect()
        // The tables that refer to others were made after these. `logins` follows `session`.
        let tables = try connection.all(
            """
            SELECT relname::text FROM pg_class
            JOIN pg_attribute ON attrelid = pg_class.oid AND attname = ?
            WHERE relnamespace = to_regnamespace(?) AND relkind = 'r'
                AND has_table_privilege(pg_class.oid, 'DELETE')
            ORDER BY pg_class.oid DESC
            """, .text(ServerHealthSchema.ownerColumn), .text(ServerHealthSchema.name)
        ) { $0.text(0) }
        try connection.transaction {
            // Triggers have noted what the deletions change.
            for table in tables + [CountedTable.changes] {
                try connection.run("DELETE FROM \(ServerSchema.quoted(table)) WHERE true")
            }
        }
    }
}
