import ClarityJobs
import ClaritySystem
import WebAPI

/// The browsers that have come in, in memory only.
struct PageSessions {
    /// A browser that has come in.
    struct Session: Sendable {
        /// The digest of the cookie's token.
        fileprivate var digest: String
        /// What an action has to show, which another site cannot read.
        var csrf: String
        let viewer: APIViewer
        /// When the session ends.
        var end: ContinuousClock.Instant

        /// A name for the audit log, with which nobody can come in.
        var name: String { String(digest.prefix(8)) }
    }

    /// The most sessions at the same time; a new one ends the oldest.
    static let most = 64
    /// How long a session lasts.
    static let life = Duration.seconds(12 * 3600)

    private var sessions: [Session] = []

    /// Begins a session and returns its token, for the cookie.
    mutating func begin(as viewer: APIViewer, at now: ContinuousClock.Instant) -> String {
        sessions.removeAll { $0.end <= now }
        if sessions.count >= PageSessions.most { sessions.removeFirst() }
        let token = PageAccess.newToken()
        sessions.append(
            Session(
                digest: PageAccess.digest(token), csrf: PageAccess.newToken(), viewer: viewer,
                end: now + PageSessions.life))
        return token
    }

    /// Returns the session with a token; `nil` if there is none or it has ended.
    func session(_ token: String, at now: ContinuousClock.Instant) -> Session? {
        let digest = PageAccess.digest(token)
        return sessions.first { PageAccess.isSame($0.digest, digest) && now < $0.end }
    }
}

/// The attempts to come in with a password.
struct PasswordAttempts {
    /// How many attempts there may be within `span`, whoever makes them.
    static let most = 5
    static let span = Duration.seconds(60)

    private var times: [ContinuousClock.Instant] = []

    /// Counts an attempt and returns `nil`, or returns how long to wait until there may be one.
    mutating func take(at now: ContinuousClock.Instant) -> Duration? {
        times.removeAll { now - $0 >= PasswordAttempts.span }
        guard times.count >= PasswordAttempts.most else {
            times.append(now)
            return nil
        }
        return PasswordAttempts.span - (now - times[0])
    }
}
