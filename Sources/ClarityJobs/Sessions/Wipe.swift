import ClarityScheduler
import ClaritySystem
import SQLite

/// What a logout removed.
public struct WipeReceipt: Hashable, Sendable {
    /// What there was of a kind, such as `samples`.
    public struct Entry: Hashable, Sendable {
        public var name: String
        public var count: Int64
    }

    /// Every kind in the same order, with 0 for those of which there was nothing.
    public let entries: [Entry]

    /// All of it together.
    public var total: Int64 { entries.reduce(0) { $0 + $1.count } }
}

// Removing everything that belongs to the user.

extension HealthStore {
    /// What a wipe empties, and what its rows are called on the receipt.
    static let wipedTables = [
        ("session", "sessions"), ("session_record", nil), ("owner", nil), ("profile", "profiles"),
        ("outbox", "samples"), ("batches", "uploads"), ("metrics", "metrics"),
        ("insights", "insights"), ("archive", "archived versions"), ("sources", "sources"),
        // Made of what the sources have, which the samples count.
        ("minutes", nil), ("contributions", nil), ("day_zone", nil), ("readings", nil),
        ("server_words", nil),
        ("pulls", nil),
        ("analyses", "analyses"), ("insight_requests", nil), ("missing_texts", nil),
        ("restorations", nil),
    ]

    /// What a wipe leaves: nothing of a user is in it but, sealed, who did what in the audit log.
    static let keptTables = [
        "canary", "dialects", "login_tries", "sqlite_sequence", "tenancy", "requests", "closures",
        "former_keys", "rotation", "audit", "audit_head", "metered_bytes", "form_upgrade",
    ]

    /// How many samples of the outbox were never taken by the backend, so that a wipe loses them: all
    /// but those that it accepted, confirmed, or refused.
    public func unsentSamples() throws(HealthStoreError) -> Int64 {
        try access { connection in
            try connection.first(
                """
                SELECT count(*) FROM outbox
                WHERE state NOT IN ('accepted', 'confirmed', 'stored', 'unconfirmed', 'rejected')
                """
            ) { $0.integer(0) } ?? 0
        }
    }

    /// Whether there is anything that a wipe would remove.
    public func hasUserData() throws(HealthStoreError) -> Bool {
        try access { connection in
            for (table, _) in HealthStore.wipedTables {
                let query = "SELECT 1 FROM \(table) LIMIT 1"
                if try connection.first(query, map: { $0.integer(0) }) != nil { return true }
            }
            return false
        }
    }

    /// Removes the session, the owner, and all that was kept of them, in one transaction, and then
    /// what their sealed pages left in the file and in its log.
    ///
    /// The key, the count of logins, the audit log and the history of runs stay.
    /// From then on whoever opened the store before writes nothing more (`changedHands`), and nothing
    /// goes in before a login (`loggedOut`): a run that goes on, or that a loop starts, puts nothing
    /// back. This store is spent as well.
    ///
    /// What the file system or the disk keeps of blocks that the file gave back is beyond its reach;
    /// it is sealed.
    ///
    /// - Throws: `database` when another process held the file for longer than 30 s: before anything
    ///   was removed, or when all was removed and only the old pages could not be given up. The same
    ///   call does what is missing.
    public func wipe() throws(HealthStoreError) -> WipeReceipt {
        try access { connection in
            // Overwrites what is removed with zeros, in the file too once the log goes into it.
            try connection.execute("PRAGMA secure_delete = ON")
        }
        let receipt = try changeAnyway { connection in
            // Samples hang on their uploads: whichever goes first.
            try connection.execute("PRAGMA defer_foreign_keys = ON")
            let log = try auditLog(connection)
            let user = try log.user()
            var entries: [WipeReceipt.Entry] = []
            for (table, name) in HealthStore.wipedTables {
                // With a condition, so that the rows are counted.
                try connection.run("DELETE FROM \(table) WHERE true")
                guard let name else { continue }
                entries.append(.init(name: name, count: Int64(connection.changes)))
            }
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
            try Tenancy.end(connection)
            try StateDirectory.unmarkLogin(in: folder)
            return receipt
        }
        try access { connection in
            try HealthStore.emptyLog(connection)
            try connection.execute("VACUUM")
            try HealthStore.emptyLog(connection)
        }
        return receipt
    }
}
