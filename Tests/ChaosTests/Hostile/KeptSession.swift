import HealthModel
import ClarityScheduler
import Synchronization

@testable import Backend
@testable import BackendContract

/// A session store in memory that refuses nothing.
final class KeptSession: SessionStore {
    private let session = Mutex<Session?>(nil)

    func load() -> Session? { session.withLock { $0 } }

    func save(_ session: Session, at now: Instant, isAgain: Bool) {
        self.session.withLock { $0 = session }
    }

    func replace(_ old: Session, with renewed: Session, at now: Instant) -> Bool {
        session.withLock { session in
            guard session == old else { return false }
            session = renewed
            return true
        }
    }

    /// Keeps the session, because the test continues with it.
    func remove(_ session: Session, because reason: String, at now: Instant) -> Bool { true }
    func clear() { session.withLock { $0 = nil } }
    func lock() -> (any AnyObject & Sendable)? { Right() }

    func noteRefusal(
        _ reason: String, isTrouble: Bool, at now: Instant
    ) -> SessionRecord.Trouble? { nil }

    func reserveLogin(email: String, at now: Instant) -> LoginReservation { .granted(1) }
    func withdrawLogin(_ number: Int64) {}
    func credentials() -> LoginCredentials? { nil }

    private final class Right: Sendable {}
}
