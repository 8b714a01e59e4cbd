public import HealthModel
public import ClarityScheduler
@preconcurrency import Glibc
import Database

/// The login of a store, and what the store knows about its backends.
///
/// The store belongs to the first user who ever logged in, until a logout removes everything: the
/// outbox and the cache are theirs, and must not mix with anybody else's data.
public struct Sessions: Sendable {
    let store: HealthStore

    var cipher: Cipher { store.cipher }

    /// Returns the stored session, or `nil` if nobody is logged in.
    ///
    /// - Throws: `changedHands` after a logout that removed everything: work that this store was
    ///   opened for must not continue as another user.
    public func load() throws(HealthStoreError) -> Session? {
        try store.snapshot { connection in
            try store.ownership.check(connection, allowsVacancy: true)
            return try session(connection)
        }
    }

    /// Stores the session of a login in place of the former one.
    ///
    /// If the store has no owner yet, the session's user becomes its owner.
    ///
    /// - Parameter isAgain: whether the login only replaces an ended session, without anybody
    ///   asking.
    /// - Throws: `otherUser` if the store has another owner, or `changedHands`; the former session
    ///   then stays. `loggedOut` if `isAgain` is true and somebody has logged out meanwhile.
    public func save(
        _ session: Session, at now: Instant? = nil, isAgain: Bool = false
    ) throws(HealthStoreError) {
        try store.change(allowsVacancy: true) { connection in
            if isAgain, try record(connection) == nil { throw HealthStoreError.loggedOut }
            try claim(for: session.userID, connection)
            try store.audit.record(.loggedIn, [:], connection)
            try Ownership.begin(connection)
            try connection.write(session.encryptedForm, to: "session", cipher)
            try write(SessionRecord(session, loggedInAt: now), connection)
            try store.place.markLogin(connection)
        }
    }

    /// Lets data come in again where there is no backend to log in to, if a logout has removed
    /// everything; changes nothing else.
    public func beginWithoutLogin() throws(HealthStoreError) {
        try store.change(allowsVacancy: true) { connection in try Ownership.begin(connection) }
    }

    /// Removes the login mark if nobody is logged in, or if the backend has refused for long to
    /// renew the session, so that the next login is noticed.
    ///
    /// A concurrent login or renewal commits either before this check or after it.
    public func awaitLogin(at now: Instant) throws(HealthStoreError) -> LoginWait {
        try store.changeAnyway { connection in
            let hasSession = try session(connection) != nil
            if hasSession, try refusedSince(at: now, connection) == nil { return .over }
            try store.place.unmarkLogin(connection)
            return hasSession && !store.place.marksLogins ? .unnoticed : .begun
        }
    }

    /// Returns since when the backend has refused to renew the stored session; `nil` if it has not,
    /// or not for long enough to say so, or if nobody is logged in.
    public func refusedSince(at now: Instant) throws(HealthStoreError) -> Instant? {
        try store.snapshot { connection in try refusedSince(at: now, connection) }
    }

    /// Returns whether somebody is logged in with a session that the backend does not refuse to
    /// renew.
    public func isUsable(at now: Instant) throws(HealthStoreError) -> Bool {
        guard try load() != nil else { return false }
        return try refusedSince(at: now) == nil
    }

    private func refusedSince(at now: Instant, _ connection: Connection) throws -> Instant? {
        guard try session(connection) != nil, let trouble = try record(connection)?.trouble,
            trouble.isLasting(at: now)
        else { return nil }
        return trouble.since
    }

    /// Stores `renewed`, the renewal of `old`, in its place. After renewals that were refused, this
    /// counts as a login for whatever waits for one.
    ///
    /// - Returns: `false`, with nothing changed, if `old` is no longer the stored session: somebody
    ///   has logged in or out meanwhile, and a renewal must not undo that.
    /// - Throws: `otherUser` if the renewal belongs to another user.
    public func replace(
        _ old: Session, with renewed: Session, at now: Instant
    ) throws(HealthStoreError) -> Bool {
        try store.change(allowsVacancy: true) { connection in
            guard try isKept(old, connection) else { return false }
            guard try owner(connection) == renewed.userID.lowercased() else {
                throw HealthStoreError.otherUser(path: store.path)
            }
            try connection.write(renewed.encryptedForm, to: "session", cipher)
            var record = try record(connection) ?? SessionRecord(old, loggedInAt: nil)
            record.renewedAt = now
            let wasRefused = record.trouble != nil
            record.trouble = nil
            try write(record, connection)
            if wasRefused { try store.place.markLogin(connection) }
            return true
        }
    }

    /// Removes a session that the backend has ended, but keeps whose it was and why it ended.
    ///
    /// - Returns: `false`, with nothing changed, if it is no longer the stored session.
    public func remove(
        _ session: Session, because reason: String, at now: Instant
    ) throws(HealthStoreError) -> Bool {
        try store.change(allowsVacancy: true) { connection in
            guard try isKept(session, connection) else { return false }
            var record = try record(connection) ?? SessionRecord(session, loggedInAt: nil)
            record.refusal = SessionRecord.Refusal(at: now, reason: reason)
            record.trouble = nil
            try write(record, connection)
            try connection.run("DELETE FROM session")
            return true
        }
    }

    /// Removes the session and its record. The owner and all data stay.
    public func clear() throws(HealthStoreError) {
        try store.change(allowsVacancy: true) { connection in
            let removed = try connection.change("DELETE FROM session")
            if removed > 0 { try store.audit.record(.loggedOut, [:], connection) }
            try store.place.unmarkLogin(connection)
            try connection.run("DELETE FROM session_record")
        }
    }

    /// Returns the record of the session, or `nil` before the first login and after a logout.
    public func record() throws(HealthStoreError) -> SessionRecord? {
        try store.access { connection in try record(connection) }
    }

    /// Records a renewal or login that failed.
    ///
    /// - Parameters:
    ///   - reason: the reason in our words; nothing that a backend wrote.
    ///   - isTrouble: whether the backend answered the renewal with an error of its own.
    /// - Returns: the present series of such renewals, or `nil` if there is none.
    public func noteRefusal(
        _ reason: String, isTrouble: Bool, at now: Instant
    ) throws(HealthStoreError) -> SessionRecord.Trouble? {
        try store.change(allowsVacancy: true) { connection in
            let old = try session(connection).map { SessionRecord($0, loggedInAt: nil) }
            guard var record = try record(connection) ?? old else { return nil }
            record.refusal = SessionRecord.Refusal(at: now, reason: reason)
            if isTrouble {
                record.trouble = SessionRecord.Trouble.next(after: record.trouble, at: now)
            }
            try write(record, connection)
            return record.trouble
        }
    }

    /// Returns the owner of the data, in lower case, or `nil` before the first login.
    public func owner() throws(HealthStoreError) -> String? {
        try store.access { connection in try self.owner(connection) }
    }

    /// Returns the remembered dialect of the backend at `base`, or `nil`.
    ///
    /// It is neither health data nor a secret, and the backend's address is in the job file.
    public func dialect(of base: String) throws(HealthStoreError) -> String? {
        try store.first(
            "SELECT name FROM dialects WHERE backend = ?", .text(base), map: { $0.text(0) })
    }

    /// Stores a dialect's name, of 1 to 40 characters, in place of any earlier one.
    public func remember(_ dialect: String, of base: String) throws(HealthStoreError) {
        // `changeAnyway`, because this may also happen between a logout and the next login.
        try store.changeAnyway { connection in
            try connection.run(
                """
                INSERT INTO dialects (backend, name) VALUES (?, ?)
                ON CONFLICT (backend) DO UPDATE SET name = excluded.name
                """, .text(base), .text(dialect))
        }
    }

    private func isKept(_ session: Session, _ connection: Connection) throws -> Bool {
        let kept = try self.session(connection)
        return kept?.refreshToken == session.refreshToken
            && kept?.accessToken == session.accessToken
    }

    private func session(_ connection: Connection) throws -> Session? {
        try connection.encryptedValue(of: "session").map {
            try cipher.open($0, for: RowIdentity("session"), as: Session.init(encryptedForm:))
        }
    }

    private func record(_ connection: Connection) throws -> SessionRecord? {
        try connection.encryptedValue(of: "session_record").map {
            try cipher.open(
                $0, for: RowIdentity("session_record"), as: SessionRecord.init(encryptedForm:))
        }
    }

    /// Decrypts the owner, or takes it from the session if it does not decrypt: a damaged owner
    /// must not lock a person out of their own data.
    ///
    /// Nobody without the key can have made the session, so it can be trusted. The next login
    /// stores the owner again.
    ///
    /// - Throws: `EncryptionError` of `owner` if the session does not decrypt either, because then
    ///   nothing proves whose data it is.
    private func owner(_ connection: Connection) throws -> String? {
        if let owner = try AuditLog(connection: connection, cipher: cipher).user() { return owner }
        guard try connection.hasRows("owner") else { return nil }
        let session = try connection.openedValue(of: "session", cipher)
        guard let user = session.flatMap(Session.init(encryptedForm:))?.userID else {
            throw EncryptionError(RowIdentity("owner"))
        }
        return user.lowercased()
    }

    private func claim(for userID: String, _ connection: Connection) throws {
        let user = userID.lowercased()
        guard try owner(connection) ?? user == user else {
            throw HealthStoreError.otherUser(path: store.path)
        }
        try connection.write(Array(user.utf8), to: "owner", cipher)
    }

    private func write(_ record: SessionRecord, _ connection: Connection) throws {
        try connection.write(record.encryptedForm, to: "session_record", cipher)
    }
}

/// Whether a run that has no usable session waits for a login.
public enum LoginWait: Sendable {
    /// The next login is noticed.
    case begun
    /// There is a usable session by now.
    case over
    /// The stored session is refused, and schedulers would not notice another one.
    case unnoticed
}

extension HealthStore {
    /// The login.
    public var sessions: Sessions { Sessions(store: self) }
}

/// The exclusive right to renew the session.
///
/// For data in a file, it is a flock(2) lock on the state directory itself, so it leaves no file
/// behind and a dry run can take it too; for data on a server, it is an advisory lock there, which
/// holds for all machines. It ends with the last reference to it, or with the process.
///
/// `@unchecked`: it only keeps alive what holds the lock.
public final class SessionLock: @unchecked Sendable {
    private let holder: AnyObject

    fileprivate init(_ holder: AnyObject) { self.holder = holder }
}

extension Sessions {
    /// Takes the right to renew the session; returns `nil` while another process, or another caller
    /// in this one, has it.
    public func lock() throws(HealthStoreError) -> SessionLock? {
        try HealthStore.describing(store.path) {
            try store.place.lockSession().map(SessionLock.init)
        }
    }
}

// The encrypted forms of a session and of its record.

extension Session {
    var encryptedForm: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(field: userID)
        bytes.append(field: email)
        bytes.append(field: accessToken.reveal())
        bytes.append(field: refreshToken.reveal())
        bytes.append(littleEndian: expiresAt.millisecondsSince1970)
        bytes.append(field: backend)
        return bytes
    }

    /// Returns `nil` if the bytes are not a valid `encryptedForm`.
    init?(encryptedForm: [UInt8]) {
        var reader = ByteReader(encryptedForm)
        guard let userID = reader.field(), let email = reader.field(),
            let access = reader.field(), let refresh = reader.field(),
            let expiry = reader.number(Int64.self),
            let backend = reader.isAtEnd ? "" : reader.field()
        else { return nil }
        self.init(
            userID: userID, email: email, accessToken: Secret(access),
            refreshToken: Secret(refresh), expiresAt: Instant(millisecondsSince1970: expiry),
            backend: backend)
    }
}

extension SessionRecord {
    init(_ session: Session, loggedInAt: Instant?) {
        self.init(email: session.email, backend: session.backend, loggedInAt: loggedInAt)
    }

    private static let version: UInt8 = 1

    var encryptedForm: [UInt8] {
        var bytes: [UInt8] = [SessionRecord.version]
        bytes.append(field: email)
        bytes.append(field: backend)
        for instant in [loggedInAt, renewedAt, refusal?.at, trouble?.since] {
            bytes.append(littleEndian: instant == nil ? UInt8(0) : 1)
            bytes.append(littleEndian: instant?.millisecondsSince1970 ?? 0)
        }
        bytes.append(field: refusal?.reason ?? "")
        bytes.append(littleEndian: Int64(trouble?.count ?? 0))
        return bytes
    }

    /// Returns `nil` if the bytes are not a valid `encryptedForm`.
    init?(encryptedForm: [UInt8]) {
        var reader = ByteReader(encryptedForm)
        guard reader.number(UInt8.self) == SessionRecord.version, let email = reader.field(),
            let backend = reader.field()
        else { return nil }
        var instants: [Instant?] = []
        for _ in 0..<4 {
            guard let isKnown = reader.number(UInt8.self), let time = reader.number(Int64.self)
            else { return nil }
            instants.append(isKnown == 1 ? Instant(millisecondsSince1970: time) : nil)
        }
        guard let reason = reader.field(), let count = reader.number(Int64.self) else { return nil }
        self.init(email: email, backend: backend, loggedInAt: instants[0])
        renewedAt = instants[1]
        refusal = instants[2].map { Refusal(at: $0, reason: reason) }
        trouble = instants[3].map { Trouble(since: $0, count: Int(clamping: count)) }
    }
}
