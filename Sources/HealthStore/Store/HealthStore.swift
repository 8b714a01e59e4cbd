public import ClarityScheduler
public import Platform
import Database
@preconcurrency import Glibc
import Synchronization

/// Stores a person's health data: the outbox, the pulled data, and the session; in a file on this
/// machine, or in PostgreSQL.
///
/// Values, tokens and pulled rows are encrypted; kinds, times, states and counts are not. Several
/// processes may use one place at the same time. Every call is one transaction or several in
/// sequence, and waits up to 30 s for another process. If a process is killed in between, the last
/// commit stands.
///
/// A store writes for the user whose ownership was current when the store was opened. After a
/// logout that removed everything, in this process or another, it writes nothing more and returns
/// no session.
///
/// `@unchecked`: everything but `connection` and `lookout` is an immutable value. `connection` is
/// used and replaced only while `lock` is held, and `lookout` only while `looking` is held.
public final class HealthStore: @unchecked Sendable {
    let cipher: Cipher
    /// The identifier of the store's master key; not the key.
    let keyID: String
    let place: any HealthPlace
    /// The place for messages: the path of the file, or the name of the server.
    var path: String { place.name }
    /// Who uses the store, for the audit log.
    let actor: AuditActor
    let clock: any WallClock
    /// The ownership of the file when the store was opened.
    let ownership: Ownership
    private var connection: Connection
    private let lock = Mutex(())
    /// A second connection that only reads; open while much is written.
    private var lookout: Connection?
    private let looking = Mutex(())
    /// The owner of the batches that this store sends; drawn when first needed.
    private let sender = Mutex<UploadOwner?>(nil)

    /// Opens the store of a state directory, and creates the directory if it is missing.
    ///
    /// - Parameters:
    ///   - environment: the environment of the process, which says where the master key is
    ///     (`MasterKeySource`), and which server has the data, if one does (`ServerAccount`). By
    ///     default the key is `keys/master.key` in the state directory, created on first use; for
    ///     data on a server, none is created here.
    ///   - actor: the actor that the audit log names.
    ///   - clock: the clock for the audit log.
    /// - Throws: `lostKey` if there is a store without a key: no new key is ever made for it.
    ///   `rotating` while another process changes the key. `wrongKey`, `rotationUnfinished`,
    ///   `foreignFile`, `schema`, `directory`, `key` or `database` as their names say. Nothing is
    ///   written before the key is known to be the right one.
    public convenience init(
        stateDirectory: String, environment: [String: String],
        actor: AuditActor = AuditActor(), clock: any WallClock = SystemClock()
    ) throws(HealthStoreError) {
        if let (server, account) = try ServerAccount.named(in: environment) {
            let (place, key) = try HealthStore.place(
                of: account, at: server, stateDirectory, environment)
            try self.init(in: place, key: key, actor: actor, clock: clock)
            try HealthStore.describing(stateDirectory) {
                try MasterKeySource(stateDirectory: stateDirectory, environment: environment)
                    .moveFormer()
            }
            return
        }
        let opening = try StoreOpening(stateDirectory, environment)
        try self.init(
            in: HealthFilePlace(opening.file.path, lock: opening.lock), key: opening.key,
            actor: actor, clock: clock)
    }

    /// Whether there is a store, or opening it says what is wrong. Opening a store where there is
    /// none creates it; on a server, what `clarity-jobs store init` made is always there.
    public static func exists(in stateDirectory: String, environment: [String: String]) -> Bool {
        environment[ServerAccount.variable] != nil || HealthFile(in: stateDirectory).isKept
    }

    /// Returns an account's place on a server, and the key that was given for it.
    static func place(
        of account: String, at server: ServerAddress, _ stateDirectory: String,
        _ environment: [String: String]
    ) throws(HealthStoreError) -> (place: HealthServerPlace, key: MasterKey) {
        try describing("\(server)") {
            try StateDirectory.requireNotRemoved(stateDirectory)
            let source = MasterKeySource(stateDirectory: stateDirectory, environment: environment)
            guard let key = try source.find()?.key else {
                throw HealthStoreError.lostKey(path: "\(server), account `\(account)`")
            }
            return (
                try HealthServerPlace(
                    address: server, account: account, folder: stateDirectory, key: key,
                    wrapsKeys: account != ServerAccount.name(of: nil)), key
            )
        }
    }

    /// Opens the store of a place and checks the key.
    init(
        in place: any HealthPlace, key: MasterKey, actor: AuditActor, clock: any WallClock
    ) throws(HealthStoreError) {
        self.place = place
        self.actor = actor
        self.clock = clock
        do {
            connection = try place.open(keyID: key.identifier())
            let key = try place.key(key, connection)
            keyID = try key.identifier()
            let isRotating = try RotationState(connection) != nil
            do {
                cipher = try KeyCheck.cipher(key, connection)
            } catch is EncryptionError where isRotating {
                throw HealthStoreError.rotationUnfinished(path: place.name)
            }
            guard !isRotating else { throw HealthStoreError.rotationUnfinished(path: place.name) }
            try KeyCheck.guardWrites(of: connection, cipher)
            ownership = try Ownership(connection)
            try RowCounts.watch(connection, cipher, place.share)
            try RowCounts(connection: connection, cipher: cipher).begin()
            try AnsweredUploads.settle(connection)
            try audit.beginNote(connection)
            try audit.noteEnd(connection)
        } catch let error as EncryptionError where error.table == "canary" {
            throw place.explained(.wrongKey(path: place.name))
        } catch {
            throw place.explained(HealthStore.described(error, place.name))
        }
    }

    /// Runs `body` with the connection. Several queries in it may see different states of the file.
    func access<Result>(
        _ body: (Connection) throws -> Result
    ) throws(HealthStoreError) -> Result {
        try HealthStore.describing(path) { try lock.withLock { _ in try body(connection) } }
    }

    /// Runs `body` in a transaction that sees one state of the file; `body` must not write.
    func snapshot<Result>(
        _ body: (Connection) throws -> Result
    ) throws(HealthStoreError) -> Result {
        try access { connection in try connection.snapshot { try body(connection) } }
    }

    /// Reads committed data; while much is written, it does not wait for the writer.
    func look<Result>(
        _ body: (Connection) throws -> Result
    ) throws(HealthStoreError) -> Result {
        guard looking.withLock({ _ in lookout != nil }) else { return try access(body) }
        return try HealthStore.describing(path) {
            try looking.withLock { _ in try body(openLookout()) }
        }
    }

    private func openLookout() throws(DatabaseError) -> Connection {
        guard let lookout else {
            throw DatabaseError(code: 21, message: "the second connection was closed meanwhile")
        }
        return lookout
    }

    /// Opens the connection for `look`, or closes it. A dry run gets none, because no second
    /// connection can see its private file.
    func setLookout(_ isThere: Bool) throws(HealthStoreError) {
        try HealthStore.describing(path) {
            try looking.withLock { _ in
                lookout = isThere ? try place.lookout() : nil
            }
        }
    }

    /// Returns the owner of the batches that this store sends.
    func uploadOwner() throws(HealthStoreError) -> UploadOwner {
        try access { connection in
            try sender.withLock { owner in
                let drawn = try owner ?? UploadOwner(in: place, connection)
                owner = drawn
                return drawn
            }
        }
    }

    /// Leaves the batches that this store was sending to whoever sends next.
    func endSending() throws(HealthStoreError) {
        try access { connection in
            try sender.withLock { owner in
                if let owner { try place.unlock(owner.number, connection) }
                owner = nil
            }
        }
    }

    /// Whether the attempt that sends a batch is still alive; `false` for a batch of an earlier
    /// version, which has no owner.
    func isSent(by owner: Int64?, _ connection: Connection) throws -> Bool {
        guard let owner else { return false }
        let isOwn = sender.withLock { $0?.number == owner }
        return try isOwn || place.isLocked(owner, connection)
    }

    /// Writes the user's data in one transaction, which an error rolls back as a whole.
    ///
    /// - Parameter allowsVacancy: whether the data may belong to nobody, as before a login.
    /// - Throws: `changedHands` or `loggedOut` after a logout that removed everything.
    func change<Result>(
        allowsVacancy: Bool = false, _ body: (Connection) throws -> Result
    ) throws(HealthStoreError) -> Result {
        try changeAnyway { connection in
            try ownership.check(connection, allowsVacancy: allowsVacancy)
            return try body(connection)
        }
    }

    /// Records what came of a request, and again over a new session whenever the server ends the
    /// session, because of a restart for instance: it is known here alone. Gives up 30 s after the
    /// first end, and does not end early when the task is cancelled.
    ///
    /// While it waits for the server, its thread is free for the other requests.
    ///
    /// - Parameter body: changes nothing where it was committed before.
    public func recording<Result>(
        _ body: () throws(HealthStoreError) -> Result
    ) async throws(HealthStoreError) -> Result {
        var deadline: Duration?
        while true {
            do throws(HealthStoreError) {
                return try body()
            } catch {
                let end = deadline ?? clock.elapsed + .seconds(30)
                deadline = end
                try await connectAgain(after: error, until: end)
            }
        }
    }

    /// Takes a new session, and waits for a server that starts again.
    private func connectAgain(
        after ended: HealthStoreError, until end: Duration
    ) async throws(HealthStoreError) {
        var error = ended
        while case .database(let fault, _) = error, fault.isGone, clock.elapsed < end {
            do throws(HealthStoreError) {
                return try takeSession()
            } catch let next {
                error = next
            }
            // A task of its own, because the sleep of a cancelled one ends at once.
            await Task { [clock] in await clock.sleep(for: .milliseconds(200)) }.value
        }
        throw error
    }

    /// Takes a new session, with the lock of the batches that this store sends.
    private func takeSession() throws(HealthStoreError) {
        try HealthStore.describing(path) {
            try lock.withLock { _ in
                let session = try place.open(keyID: keyID)
                try KeyCheck.guardWrites(of: session, cipher)
                try RowCounts.watch(session, cipher, place.share)
                // Whoever asks at this moment whether the batches are being sent has it.
                guard
                    try sender.withLock({ try $0.map { try place.lock($0.number, session) } })
                        != false
                else {
                    throw DatabaseError(
                        kind: .gone, message: "the lock of the batches is not free",
                        code: "PostgreSQL")
                }
                connection = session
            }
        }
    }

    /// Writes as `change` does, in one transaction after the other until one of them changes fewer
    /// than `portion` rows.
    ///
    /// - Parameter body: returns how many rows it changed.
    /// - Returns: how many rows all of them changed.
    func change(
        inPortionsOf portion: Int64, _ body: (Connection) throws -> Int64
    ) throws(HealthStoreError) -> Int64 {
        var total: Int64 = 0
        while true {
            let count = try change(body)
            total += count
            if count < portion { return total }
        }
    }

    /// Writes in one transaction, without checking whose data it is.
    func changeAnyway<Result>(
        _ body: (Connection) throws -> Result
    ) throws(HealthStoreError) -> Result {
        try access { connection in
            let result = try connection.transaction { try body(connection) }
            try audit.noteEnd(connection)
            return result
        }
    }

    /// Checks that the store's data belongs to a user, ignoring the case of the user's id.
    ///
    /// - Throws: `HealthStoreError.otherUser`, also if nobody has ever logged in.
    func requireOwner(_ user: String, _ connection: Connection) throws {
        let owner = try AuditLog(connection: connection, cipher: cipher).user()
        guard owner == user.lowercased() else { throw HealthStoreError.otherUser(path: path) }
    }

    /// Returns the master key for a state directory's file. If there is neither a key nor a store,
    /// it calls `make` for a new key, which by default creates the key's file.
    static func key(
        of file: HealthFile, _ environment: [String: String],
        orElse make: (MasterKeySource) throws(MasterKeyError) -> MasterKey = {
            source throws(MasterKeyError) in try source.create()
        }
    ) throws(HealthStoreError) -> MasterKey {
        let source = MasterKeySource(stateDirectory: file.directory, environment: environment)
        // Checked before the key is looked for. In the other order, if another process made the key
        // and the store in between, this one would see a store without a key.
        let hadHealth = file.exists
        return try describing(file.path) {
            if let known = try source.load(isBegun: hadHealth) { return known }
            guard !hadHealth else { throw HealthStoreError.lostKey(path: file.path) }
            return try make(source)
        }
    }

    /// Runs `body` and throws its errors as errors about the file at `path`.
    static func describing<Result>(
        _ path: String, _ body: () throws -> Result
    ) throws(HealthStoreError) -> Result {
        do {
            return try body()
        } catch {
            throw described(error, path)
        }
    }

    static func described(_ error: any Error, _ path: String) -> HealthStoreError {
        switch error {
        case let error as HealthStoreError: error
        case let error as DatabaseError where error.statement == KeyCheck.isPresent:
            .keyReplaced(path: path)
        case let error as DatabaseError where error.isDamage:
            .damaged(error, path: path, advice: DamageAdvice.words(about: path))
        case let error as DatabaseError: .database(error, path: path)
        case let error as BackupError: .backup(error, path: path)
        case let error as StateDirectoryError: .directory(error)
        case let error as EncryptionError: .encryption(error, path: path)
        case let error as Migrations.Fault: .schema(error, path: path)
        case let error as MasterKeyError: .key(error)
        // The text of any other error could contain anything.
        default:
            .database(
                DatabaseError(code: 1, message: "error of type `\(type(of: error))`"), path: path)
        }
    }
}

/// The time during which a store belongs to one user: from the first login, or from a logout that
/// removed everything, to the next such logout.
///
/// A store has at most one owner during an ownership (`Sessions.save` ensures it). A process that
/// reads or writes rows for the ownership that it found when it opened the store therefore does so
/// for that owner. No other user's rows can come in between, and a process that still has removed
/// data in memory cannot write it back.
struct Ownership: Hashable, Sendable {
    /// The number of the ownership, from 1.
    let number: Int64

    /// Reads the current ownership.
    init(_ connection: Connection) throws(DatabaseError) {
        number = try connection.integer("SELECT number FROM tenancy") ?? 1
    }

    /// Checks that this ownership is still the current one.
    ///
    /// - Parameter allowsVacancy: whether the check also passes after a logout that removed
    ///   everything, before anybody has logged in.
    /// - Throws: `HealthStoreError.changedHands` or `.loggedOut`.
    func check(_ connection: Connection, allowsVacancy: Bool) throws {
        let query = "SELECT number, is_vacant FROM tenancy"
        let found = try connection.first(query) { ($0.integer(0), $0.integer(1) == 1) }
        guard let (current, isVacant) = found, current == number else {
            throw HealthStoreError.changedHands
        }
        if isVacant, !allowsVacancy { throw HealthStoreError.loggedOut }
    }

    /// Records that somebody has logged in.
    static func begin(_ connection: Connection) throws(DatabaseError) {
        try connection.run("UPDATE tenancy SET is_vacant = 0 WHERE is_vacant = 1")
    }

    /// Records that everything of the user was removed.
    static func end(_ connection: Connection) throws(DatabaseError) {
        try connection.run("UPDATE tenancy SET number = number + 1, is_vacant = 1")
    }
}
