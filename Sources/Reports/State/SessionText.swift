public import HealthStore
public import HealthModel
public import ClarityScheduler
import Platform
public import JSON

// The session for people and for programs, without its tokens.

extension Session {
    /// `logged in as you@example.com (USER-ID) until 2026-11-20T06:00:00Z`
    public var sentence: String {
        "logged in as \(email) (\(userID)) until \(expiresAt)".forReport
    }

    /// An object with `email`, `user_id`, `backend` and `expires_at` (when the access token
    /// expires).
    public var object: JSON {
        [
            "email": .string(email), "user_id": .string(userID), "backend": .string(backend),
            "expires_at": .text(expiresAt),
        ]
    }
}

/// The user who is logged in, and the state of the session.
public struct SessionStatus: Sendable {
    /// Since when the backend has refused to renew the session; `nil` if the session counts as
    /// alive.
    public let refusedSince: Instant?
    private let session: Session
    private let now: Instant
    private let record: SessionRecord?
    private let allowance: LoginAllowance

    /// Reads the status from a store; `nil` if nobody is logged in.
    public init?(_ store: HealthStore, at now: Instant) throws(HealthStoreError) {
        guard let session = try store.sessions.load() else { return nil }
        self.session = session
        self.now = now
        refusedSince = try store.sessions.refusedSince(at: now)
        record = try store.sessions.record()
        allowance = try store.sessions.loginAllowance(
            email: record?.email ?? session.email, at: now)
    }

    /// Returns lines for when nobody is logged in: why the last session ended, and how many logins
    /// are left. Empty after a logout and before the first login.
    public static func farewell(
        _ store: HealthStore, at now: Instant
    ) throws(HealthStoreError) -> [String] {
        guard let record = try store.sessions.record() else { return [] }
        let allowance = try store.sessions.loginAllowance(email: record.email, at: now)
        return [SessionStatus.line(record.refusal), SessionStatus.line(allowance)]
    }

    /// Lines for people.
    public var lines: [String] {
        [
            sentence,
            "backend: \(session.backend)".forReport,
            "renewed: \(renewal)",
            SessionStatus.line(record?.refusal),
            SessionStatus.line(allowance),
        ]
    }

    /// The session's object with `logged_in_at`, `renewed_at`, `renewal_refused_since`, `last_refusal`
    /// (`at`, `reason`), `logins_left` and `next_login_at`. Values that are unknown or do not exist
    /// are null.
    public var object: JSON {
        let refusal: JSON? = record?.refusal.map {
            ["at": .text($0.at), "reason": .string($0.reason)]
        }
        return session.object.adding([
            "logged_in_at": .text(record?.loggedInAt), "renewed_at": .text(record?.renewedAt),
            "renewal_refused_since": .text(refusedSince),
            "last_refusal": refusal ?? .null, "logins_left": .count(allowance.left),
            "next_login_at": .text(allowance.nextAt),
        ])
    }

    private var sentence: String {
        let who = "\(session.email) (\(session.userID))"
        if let refusedSince {
            let fault = "the backend has refused to renew the session of \(who) since"
            let remedy = "jobs wait for a login; run `clarity-jobs auth login`"
            return "\(fault) \(refusedSince): \(remedy)".forReport
        }
        guard session.expiresAt <= now else { return session.sentence }
        let failing = record?.trouble.map { "has not been renewed since \($0.since)" }
        let next = failing ?? "is renewed by the next job"
        let end = session.expiresAt
        return "logged in as \(who); the access token expired at \(end) and \(next)".forReport
    }

    private var renewal: String {
        if let renewedAt = record?.renewedAt { return renewedAt.description }
        return record?.loggedInAt.map { "not since the login at \($0)" } ?? "not yet"
    }

    private static func line(_ refusal: SessionRecord.Refusal?) -> String {
        "last refusal: " + (refusal.map { "\($0.at): \($0.reason)" } ?? "none").forReport
    }

    private static func line(_ allowance: LoginAllowance) -> String {
        let left = "logins left: \(allowance.left) of \(LoginAllowance.limit)"
        return left + (allowance.nextAt.map { ", the next at \($0)" } ?? "")
    }
}
