public import Database

extension HealthStore {
    /// Where a move begins.
    public enum MoveOrigin: Sendable { case files, server }

    /// Opens the health data of a state directory in files and on a server, for a move.
    ///
    /// A place without data gets the key of the other one first, because rows move as they are
    /// encrypted.
    ///
    /// - Parameter environment: names the server (`ServerAccount`).
    /// - Throws: `HealthStoreError` as for opening either.
    public static func both(
        stateDirectory: String, environment: [String: String], from origin: MoveOrigin,
        actor: AuditActor
    ) throws(HealthStoreError) -> (files: HealthStore, server: HealthStore) {
        guard let (address, account) = try ServerAccount.named(in: environment) else {
            throw .server("no server is named")
        }
        let (place, given) = try place(of: account, at: address, stateDirectory, environment)
        var local = environment
        local[ServerAccount.variable] = nil
        func files() throws(HealthStoreError) -> HealthStore {
            try HealthStore(stateDirectory: stateDirectory, environment: local, actor: actor)
        }
        func server() throws(HealthStoreError) -> HealthStore {
            try HealthStore(stateDirectory: stateDirectory, environment: environment, actor: actor)
        }
        let source = MasterKeySource(stateDirectory: stateDirectory, environment: local)
        switch origin {
        case .files:
            let files = try files()
            try describing(place.name) {
                if let key = try source.load() { _ = try place.adopt(key, given: given) }
            }
            return (files, try server())
        case .server:
            let server = try server()
            let file = HealthFile(in: stateDirectory)
            try describing(file.path) {
                let key = try place.ownKey(given, place.connect()) ?? given
                if !file.exists { try source.adopt(key) }
            }
            return (try files(), server)
        }
    }
}

extension HealthStore {
    /// Copies everything into the store of another place, and moves the login there: each renewal
    /// makes a login of before worthless, so that two places cannot have the same.
    ///
    /// Nothing changes where the other place has data of its own. After a move that was cut short,
    /// the next call does the rest.
    ///
    /// - Throws: `HealthStoreError`; then this store is as it was.
    public func move(to other: HealthStore) throws(HealthStoreError) -> TableCopy.Outcome {
        // Rows move as they are encrypted.
        guard keyID == other.keyID else { return .occupied }
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

    static func isBegun(_ connection: Connection) throws -> Bool {
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
                // The counts were copied with their rows.
                try target.run("DELETE FROM \(CountedTable.changes)")
                // A file has a note of its audit log's end, which is now that of another log.
                try KeyCheck.write(KeyCheck.renotedText, target, cipher)
                if try target.hasRows("session") { try place.markLogin(target) }
                return outcome
            }
        }
    }
}
