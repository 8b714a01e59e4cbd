import ClarityScheduler
import Database
import Glibc

/// The result of a logout that removes everything.
public struct WipeReceipt: Hashable, Sendable {
    /// The number of removed rows of one kind, such as `samples`.
    public struct Entry: Hashable, Sendable {
        public var name: String
        public var count: Int64
    }

    /// All kinds in a fixed order; the count is 0 if there was nothing.
    public let entries: [Entry]

    /// The total over all kinds.
    public var total: Int64 { entries.reduce(0) { $0 + $1.count } }
}

// Removal of everything that belongs to the user.

extension HealthStore {
    /// The tables that a wipe empties, and the names of their rows on the receipt. What refers to
    /// others comes before them.
    static let wipedTables = [
        ("session", "sessions"), ("session_record", nil), ("owner", nil), ("profile", "profiles"),
        ("outbox", "samples"), ("batches", "uploads"), ("metrics", "metrics"),
        ("insights", "insights"), ("archive", "archived versions"), ("sources", "sources"),
        // Derived from the sources; the samples already count them.
        ("minutes", nil), ("contributions", nil), ("day_zone", nil), ("readings", nil),
        ("server_words", nil), ("segments", "segments of records"), ("segment_marks", nil),
        ("segment_days", nil), ("pruned_months", nil), ("packed_samples", nil),
        ("packed_totals", nil), ("pulls", nil), ("insight_requests", nil), ("analyses", "analyses"),
        ("missing_texts", nil), ("restorations", nil), ("notice_deliveries", nil), ("notices", nil),
        ("counts", nil), ("publications", nil),
    ]

    /// The tables that a wipe keeps: apart from the encrypted audit log, they contain nothing of a
    /// user.
    static let keptTables = [
        "canary", "dialects", "login_tries", "sqlite_sequence", "tenancy", "requests", "closures",
        "former_keys", "rotation", "audit", "audit_head", "metered_bytes", "form_upgrade",
    ]

    /// Returns whether there is anything to wipe.
    public func hasUserData() throws(HealthStoreError) -> Bool {
        try access { connection in
            try HealthStore.wipedTables.contains { table, _ in try connection.hasRows(table) }
        }
    }

    /// Removes the session, the owner and all of their data in one transaction, and then the
    /// encrypted remains in the file and its write-ahead log.
    ///
    /// The key, the login tries, the audit log and the history of runs stay. From then on, whoever
    /// opened the store before can write nothing more (`changedHands`). Nobody can write before the
    /// next login (`loggedOut`), so a run that is still going, or that a loop starts, brings
    /// nothing back. This store can no longer be used either.
    ///
    /// The file system or the disk may keep blocks that the file has freed. A wipe cannot reach
    /// these, but they are encrypted.
    ///
    /// - Throws: `database` if another process held the file for longer than 30 s. Then either
    ///   nothing was removed, or everything was and only the old pages remain. Calling again does
    ///   the rest.
    public func wipe() throws(HealthStoreError) -> WipeReceipt {
        try access { connection in
            // Overwrites removed content with zeros, also in the file once the log is checkpointed.
            try connection.overwrite(true)
        }
        let receipt = try changeAnyway { connection in
            let log = try audit.log(connection)
            let user = try log.user()
            var entries: [WipeReceipt.Entry] = []
            for (table, name) in HealthStore.wipedTables {
                // `WHERE true` makes SQLite count the rows.
                let removed = try connection.change("DELETE FROM \(table) WHERE true")
                guard let name else { continue }
                entries.append(.init(name: name, count: removed))
            }
            try RowCounts(connection: connection, cipher: cipher).forget()
            let receipt = WipeReceipt(entries: entries)
            if user != nil || receipt.total > 0 {
                try log.append(
                    AuditEntry(
                        .removed, user: user, actor: actor,
                        counts: Dictionary(
                            uniqueKeysWithValues: entries.map { ($0.name, $0.count) }),
                        detail: "everything of the user, by a logout"),
                    at: clock.now)
            }
            try Ownership.end(connection)
            try place.unmarkLogin(connection)
            return receipt
        }
        try access { connection in try connection.rewrite() }
        return receipt
    }

    /// Destroys the keys in the folder of an account that was removed: what is left of its data
    /// anywhere opens no more, also not with the key that was given for it.
    public static func destroyKeys(in folder: String) throws(HealthStoreError) {
        guard Glibc.access(folder, F_OK) == 0 else { return }
        try describing(folder) {
            try MasterKeySource(stateDirectory: folder, environment: [:]).destroy()
        }
    }
}
