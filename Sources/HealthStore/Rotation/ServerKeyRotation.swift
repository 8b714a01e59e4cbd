import ClarityScheduler
import Database
import Platform
@preconcurrency import Glibc

/// Rotates the master key of an account's data on a server.
///
/// One transaction encrypts everything again, wraps the account's own key with the given one, and
/// changes the password of the account's role, which follows from the given key. So a kill or a lost
/// connection leaves everything with the former key or everything with the new one. A key that is
/// made here is in a file beside the former one before the transaction begins, and takes its place
/// after the commit. If that was cut short, the next call does it.
///
/// Nobody else uses the data meanwhile. Writers wait for the lock of the transaction, its last step
/// ends all other sessions of the role, and a store that was opened with the former key writes
/// nothing more (`KeyCheck.guardWrites`).
struct ServerKeyRotation {
    /// The instants after which a kill leaves a new state behind; for tests.
    enum Step: Hashable, Sendable { case keyKept, encrypted, committed }

    let server: ServerAddress
    let account: String
    let keys: RotationKeys
    let actor: AuditActor
    let clock: any WallClock
    /// The number of rows that are in memory at a time.
    var portion = 1000
    /// How long to wait for other sessions of the account.
    var patience = StoreLock.patience
    /// Called after each step.
    var after: (Step) throws -> Void = { _ in }

    private var source: MasterKeySource { keys.source }
    private var isWrapped: Bool { account != ServerAccount.name(of: nil) }
    private var nextPath: String { "\(source.path)\(KeyFile.nextSuffix)" }

    /// A given key, and its place.
    private typealias Found = (key: MasterKey, place: MasterKeySource.Place)

    /// Rotates the key, or finishes a rotation that was cut short after its commit.
    func run() throws -> KeyRotationReport {
        try source.moveFormer()
        let found = try source.find()
        // The key that another call may have left, or that is named for this one.
        let waiting = try keys.newKey.given(source.environment) ?? waitingInFile()
        guard let first = found?.key ?? waiting else {
            throw HealthStoreError.lostKey(path: "\(server), account `\(account)`")
        }
        do throws(HealthStoreError) {
            let store = try open(first)
            guard let found else { return try finish(store, nil) }
            return try rotate(store, found)
        } catch {
            guard let found, let waiting, error.isOfOtherKey || error.isUnfinishedRotation else {
                throw error
            }
            let store: HealthStore
            do throws(HealthStoreError) {
                store = try open(waiting)
            } catch let other {
                throw other.isOfOtherKey || other.isUnfinishedRotation ? error : other
            }
            return try finish(store, found)
        }
    }

    private func waitingInFile() throws(MasterKeyError) -> MasterKey? {
        keys.newKey == .made ? try KeyFile.read(nextPath, as: .own) : nil
    }

    private func open(_ key: MasterKey) throws(HealthStoreError) -> HealthStore {
        let place: HealthServerPlace
        do throws(MasterKeyError) {
            place = try HealthServerPlace(
                address: server, account: account, folder: source.stateDirectory, key: key,
                wrapsKeys: isWrapped)
        } catch {
            throw .key(error)
        }
        return try HealthStore(in: place, key: key, actor: actor, clock: clock)
    }

    // MARK: The transaction

    private func rotate(
        _ store: HealthStore, _ found: Found
    ) throws(HealthStoreError) -> KeyRotationReport {
        let state = try store.access { connection in
            let given = try nextGiven(instead: found)
            try after(.keyKept)
            let own = isWrapped ? try MasterKey.random() : given
            let next = try store.cipher.followed(by: own)
            try waitForOthers(connection)
            // The rows change no count.
            try RowCounts.watch(connection, next, nil)
            return try connection.transaction {
                guard try !isUsed(connection) else { throw fault(.inUse) }
                // The notes of all machines are authenticated with the former key.
                try store.audit.noteBreak(connection)
                let state = try Reencryption(
                    connection: connection, former: store.cipher, next: next, portion: portion
                ).onServer(actor: actor, at: clock.now)
                if isWrapped {
                    try store.place.server?.replaceOwnKey(by: own, given: given, connection)
                }
                if given.bytes != found.key.bytes {
                    let verifier = try DatabaseLogin(given).verifier()
                    try connection.execute(
                        "ALTER ROLE CURRENT_USER PASSWORD \(ServerSchema.literal(verifier))")
                }
                try connection.run("SELECT pg_stat_clear_snapshot()")
                _ = try connection.integer(
                    "SELECT count(pg_terminate_backend(pid)) FROM \(Self.others)")
                try after(.encrypted)
                return state
            }
        }
        return try HealthStore.describing(store.path) {
            try after(.committed)
            try putInPlace(found)
            return KeyRotationReport(
                rows: state.rows, damaged: state.damaged, resumedFrom: nil,
                placeToFill: try placeToFill(found.place))
        }
    }

    /// The other sessions of the account's role.
    private static let others = """
        pg_stat_activity WHERE usename = current_user AND datname = current_database()
            AND pid <> pg_backend_pid()
        """

    private func isUsed(_ connection: Connection) throws -> Bool {
        try connection.integer("SELECT count(*) FROM \(Self.others)") != 0
    }

    /// Waits for sessions whose clients have ended, which the server notices a moment later.
    private func waitForOthers(_ connection: Connection) throws {
        let end = ContinuousClock.now + patience
        while try isUsed(connection) {
            guard ContinuousClock.now < end else { throw fault(.inUse) }
            usleep(20_000)
        }
    }

    // MARK: The given key

    /// Returns the key that is given from now on, once it is durably on disk if it is made here.
    private func nextGiven(instead found: Found) throws -> MasterKey {
        guard keys.newKey == .made else {
            let key = try keys.given()
            guard key.bytes != found.key.bytes else { throw fault(.sameKey) }
            return key
        }
        guard case .file = found.place else {
            guard isWrapped else { throw fault(.keyIsElsewhere(found.place.description)) }
            return found.key
        }
        _ = try KeyFile.make(nextPath, MasterKey.random().bytes)
        // A call that was cut short before its commit may have made it.
        guard let key = try KeyFile.read(nextPath, as: .own) else {
            throw fault(.newKeyLost(nextPath))
        }
        return key
    }

    private func putInPlace(_ found: Found?) throws {
        if keys.newKey == .made {
            if access(nextPath, F_OK) == 0 { try KeyFile.replace(source.path, by: nextPath) }
        } else if case .file = found?.place {
            try KeyFile.remove(source.path)
        }
        for path in [source.path, nextPath] { try KeyFile.removeDrafts(of: path) }
    }

    private func placeToFill(_ place: MasterKeySource.Place?) throws -> String? {
        if keys.newKey != .made {
            return try keys.placeToFill(place).map { "\($0) of each machine" }
        }
        guard case .file = place else { return nil }
        return "`\(source.path)` of each other machine"
    }

    /// Does what is left after the commit of a call that was cut short.
    private func finish(
        _ store: HealthStore, _ found: Found?
    ) throws(HealthStoreError) -> KeyRotationReport {
        try HealthStore.describing(store.path) {
            try putInPlace(found)
            let (rows, changedAt) = try store.access { connection in
                let names = EncryptedTable.all.map(\.name) + ["audit"]
                let rows = try names.reduce(0) { rows, name in
                    rows + (try connection.integer("SELECT count(*) FROM \(name)") ?? 0)
                }
                return (
                    rows, try connection.instant("SELECT max(retired_at_ms) FROM former_keys")
                )
            }
            return KeyRotationReport(
                rows: rows, damaged: 0, resumedFrom: changedAt,
                placeToFill: try placeToFill(found?.place))
        }
    }

    private func fault(_ error: KeyRotationError) -> HealthStoreError {
        .rotation(error, path: "\(server), account `\(account)`")
    }
}
