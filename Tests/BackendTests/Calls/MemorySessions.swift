import HealthModel
import ClarityScheduler
import Synchronization

@testable import Backend
@testable import BackendContract

/// A session store in memory.
final class MemorySessions: SessionStore {
    /// What the client recorded.
    struct Notes: Hashable {
        var savedAt: Instant?
        var replacedAt: Instant?
        var refusals: [String] = []
        var troubles = 0
        /// The addresses of the logins that were reserved and not withdrawn.
        var logins: [String] = []
    }

    private let session: Mutex<Session?>
    private let failure: (any Error)?
    private let login: LoginCredentials?
    /// The number of logins after which another one must wait, and until when.
    private let refusal: (tries: Int, until: Instant)?
    private let notebook = Mutex(Notes())
    private let trouble: Mutex<SessionRecord.Trouble?>
    /// The session that another process saves, and how often this one tries in vain to get the
    /// lock.
    private let rival: Mutex<(session: Session, refusals: Int)?> = Mutex(nil)

    /// Creates a store.
    ///
    /// Every call throws `failure`, if there is one. `login` holds the credentials for another
    /// login. `refusal` says after how many logins another one must wait.
    init(
        _ session: Session? = nil, failure: (any Error)? = nil, login: LoginCredentials? = nil,
        refusal: (tries: Int, until: Instant)? = nil, trouble: SessionRecord.Trouble? = nil
    ) {
        self.session = Mutex(session)
        self.failure = failure
        self.login = login
        self.refusal = refusal
        self.trouble = Mutex(trouble)
    }

    var kept: Session? { session.withLock { $0 } }
    var notes: Notes { notebook.withLock { $0 } }

    func load() throws -> Session? {
        if let failure { throw failure }
        return kept
    }

    func save(_ session: Session, at now: Instant, isAgain: Bool) throws {
        if let failure { throw failure }
        self.session.withLock { $0 = session }
        notebook.withLock { $0.savedAt = now }
    }

    func replace(_ old: Session, with renewed: Session, at now: Instant) throws -> Bool {
        if let failure { throw failure }
        let isReplaced = session.withLock { session in
            guard session == old else { return false }
            session = renewed
            return true
        }
        if isReplaced { notebook.withLock { $0.replacedAt = now } }
        return isReplaced
    }

    func remove(_ old: Session, because reason: String, at now: Instant) throws -> Bool {
        if let failure { throw failure }
        notebook.withLock { $0.refusals.append(reason) }
        return session.withLock { session in
            guard session == old else { return false }
            session = nil
            return true
        }
    }

    func clear() throws {
        if let failure { throw failure }
        session.withLock { $0 = nil }
    }

    func lock() throws -> (any AnyObject & Sendable)? {
        if let failure { throw failure }
        let renewed: Session? = rival.withLock { rival in
            guard let (session, refusals) = rival else { return nil }
            rival = refusals > 1 ? (session, refusals - 1) : nil
            return session
        }
        guard let renewed else { return Right() }
        session.withLock { $0 = renewed }
        return nil
    }

    func noteRefusal(
        _ reason: String, isTrouble: Bool, at now: Instant
    ) throws -> SessionRecord.Trouble? {
        notebook.withLock { notes in
            notes.refusals.append(reason)
            if isTrouble { notes.troubles += 1 }
        }
        return trouble.withLock { $0 }
    }

    func reserveLogin(email: String, at now: Instant) throws -> LoginReservation {
        if let failure { throw failure }
        return notebook.withLock { notes in
            if let refusal, notes.logins.count >= refusal.tries {
                return .usedUp(until: refusal.until)
            }
            notes.logins.append(email)
            return .granted(Int64(notes.logins.count))
        }
    }

    func withdrawLogin(_ number: Int64) throws {
        notebook.withLock { _ = $0.logins.remove(at: Int(number) - 1) }
    }

    func credentials() throws -> LoginCredentials? { login }

    /// Lets another process renew the session, and keep the lock from this one `refusals` times.
    func letAnother(renewTo session: Session, refusals: Int) {
        rival.withLock { $0 = (session, refusals) }
    }

    /// Lets another process log in, log out, or log in again.
    func letAnother(keep session: Session?) { self.session.withLock { $0 = session } }

    private final class Right: Sendable {}
}
