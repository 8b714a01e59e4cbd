public import ClarityJobs
public import ClarityScheduler

// Who is logged in, for people and for programs; the tokens are in neither.

extension Session {
    /// `logged in as you@example.com (USER-ID) until 2026-11-20T06:00:00Z`
    public var sentence: String {
        "logged in as \(email) (\(userID)) until \(expiresAt)".forReport
    }
}

/// Who is logged in and how the session fares.
public struct SessionStatus: Sendable {
    private let session: Session
    private let record: SessionRecord?
    private let allowance: LoginAllowance

    /// Reads it from a store; `nil` when nobody is logged in.
    public init?(_ store: HealthStore, at now: Instant) throws(HealthStoreError) {
        guard let session = try store.load() else { return nil }
        self.session = session
        record = try store.sessionRecord()
        allowance = try store.loginAllowance(email: record?.email ?? session.email, at: now)
    }

    /// What is worth knowing when nobody is logged in: why the last session ended, and how many
    /// logins are left; nothing after a logout and before the first login.
    public static func farewell(
        _ store: HealthStore, at now: Instant
    ) throws(HealthStoreError) -> [String] {
        guard let record = try store.sessionRecord() else { return [] }
        let allowance = try store.loginAllowance(email: record.email, at: now)
        return [SessionStatus.line(record.refusal), SessionStatus.line(allowance)]
    }

    /// Lines for people.
    public var lines: [String] {
        [
            session.sentence,
            "backend: \(session.backend)".forReport,
            "renewed: \(renewal)",
            SessionStatus.line(record?.refusal),
            SessionStatus.line(allowance),
        ]
    }

    /// An object with `email`, `user_id`, `backend`, `expires_at` (when the access token ends),
    /// `logged_in_at`, `renewed_at`, `last_refusal` (`at`, `reason`), `logins_left` and
    /// `next_login_at`; what is not known or never was is null.
    public var json: String {
        var json = JSONWriter()
        json.object { json in
            json.field("email", session.email)
            json.field("user_id", session.userID)
            json.field("backend", session.backend)
            json.field("expires_at", session.expiresAt)
            json.instant("logged_in_at", record?.loggedInAt)
            json.instant("renewed_at", record?.renewedAt)
            if let refusal = record?.refusal {
                json.object("last_refusal") { json in
                    json.field("at", refusal.at)
                    json.field("reason", refusal.reason)
                }
            } else {
                json.null("last_refusal")
            }
            json.field("logins_left", number: allowance.left)
            json.instant("next_login_at", allowance.nextAt)
        }
        return String(decoding: json.bytes, as: UTF8.self)
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

extension JSONWriter {
    fileprivate mutating func instant(_ name: String, _ instant: Instant?) {
        if let instant {
            field(name, instant)
        } else {
            null(name)
        }
    }
}
