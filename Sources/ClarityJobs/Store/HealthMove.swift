public import Database

extension HealthStore {
    /// Copies everything into the store of another place, and moves the login there: each renewal
    /// makes a login of before worthless, so that two places cannot have the same.
    ///
    /// Nothing changes where the other place has data of its own. After a move that was cut short,
    /// the next call does the rest.
    ///
    /// - Throws: `HealthStoreError`; then this store is as it was.
    public func move(to other: HealthStore) throws(HealthStoreError) -> TableCopy.Outcome {
        let isNew = try other.access { target in try !HealthStore.isBegun(target) }
        return try changeAnyway { source in
            if isNew, try HealthStore.isBegun(source) {
                try audit.record(
                    .exported, [:], detail: "everything, to where it is kept now", source)
            }
            let outcome = try other.take(from: source)
            guard outcome != .occupied else { return outcome }
            for table in HealthStore.loginTables {
                try source.run("DELETE FROM \(table) WHERE true")
            }
            try place.unmarkLogin(source)
            return outcome
        }
    }

    private static let loginTables = ["session", "session_record"]
    /// The tables of which one has rows as soon as somebody has logged in or imported anything.
    private static let marks = ["owner", "outbox", "sources"]

    private static func isBegun(_ connection: Connection) throws -> Bool {
        try marks.contains { try connection.hasRows($0) }
    }

    /// Takes what another place has, in a transaction of that place.
    func take(from source: Connection) throws(HealthStoreError) -> TableCopy.Outcome {
        try access { target in
            try target.transaction {
                // What follows the copy here and there does not make it another one.
                let outcome = try TableCopy(from: source, to: target).runOnce(
                    marks: HealthStore.marks,
                    own: Set(HealthStore.loginTables + ["canary", "audit", "audit_head"]))
                guard case .copied = outcome else { return outcome }
                // A file has a note of its audit log's end, which is now that of another log.
                try Canary.write(Canary.renotedText, target, sealer)
                if try target.hasRows("session") { try place.markLogin(target) }
                return outcome
            }
        }
    }
}
