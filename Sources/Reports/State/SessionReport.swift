public import HealthStore
public import HealthModel
public import ClarityScheduler
import Platform
import JSON

// The session for people and for programs, without its tokens.

extension Session {
    /// `logged in as you@example.com (USER-ID) until 2026-11-20T06:00:00Z`
    public var sentence: String {
        "logged in as \(email) (\(userID)) until \(expiresAt)".forReport
    }
}

extension Session: Reported {
    public static let report = Report<Session>([
        Column("email", "address of the account") { $0.email },
        Column("user_id", "id of the account") { $0.userID },
        Column("backend", "address of the backend") { $0.backend },
        Column("expires_at", "when the access token expires") { $0.expiresAt },
    ])
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

extension SessionStatus: Reported {
    public static let report = Report<SessionStatus>(
        Session.report.columns.map { $0.of { $0.session } } + [
            Column("logged_in_at", "when the login was made") { $0.record?.loggedInAt },
            Column("renewed_at", "when the access token was last renewed") {
                $0.record?.renewedAt
            },
            Column(
                "renewal_refused_since",
                "since when the backend refuses to renew the session; jobs wait for a login"
            ) { $0.refusedSince },
            Column("last_refusal", "the last refusal of a login") { $0.record?.refusal },
            Column("logins_left", "number of logins that are allowed now") {
                $0.allowance.left
            },
            Column("next_login_at", "when one more is allowed") { $0.allowance.nextAt },
        ])
}

extension SessionRecord.Refusal: Reported {
    public static let report = Report<SessionRecord.Refusal>([
        Column("at", "when it was refused") { $0.at },
        Column("reason", "why") { $0.reason },
    ])
}

/// The result of `auth register`.
public struct RegisteredAccount: Reported {
    let email: String
    let needsVerification: Bool

    public init(email: String, needsVerification: Bool) {
        (self.email, self.needsVerification) = (email, needsVerification)
    }

    public static let report = Report<RegisteredAccount>([
        Column("email", "address of the new account") { $0.email },
        Column("needs_verification", "whether `auth verify` has to confirm the address") {
            $0.needsVerification
        },
    ])
}

/// The result of `auth verify` and of `auth resend-code`.
public enum ConfirmationResult {
    /// The address was confirmed.
    public static let confirmed = Report<String>([
        Column("email", "the address that was confirmed") { $0 }
    ])
    /// Another code was mailed.
    public static let mailed = Report<String>([
        Column("email", "the address to which the code was mailed") { $0 }
    ])
}

/// The result of `auth reset-password`.
public struct PasswordReset: Reported {
    let email: String
    let isDone: Bool

    public init(email: String, isDone: Bool) { (self.email, self.isDone) = (email, isDone) }

    public static let report = Report<PasswordReset>([
        Column("email", "address of the account") { $0.email },
        Column("reset", "whether there is a new password; otherwise a code for it was mailed") {
            $0.isDone
        },
    ])
}

/// The texts of a logout.
public enum LogoutReport {
    /// Returns the question before everything is removed. It ends where the answer begins.
    ///
    /// - Parameters:
    ///   - email: the address of the account, if it is known.
    ///   - unsent: the number of samples that were never sent to the backend.
    ///   - hasBackend: whether there is a backend; otherwise nobody is logged out.
    public static func question(
        email: String?, unsent: Int64, hasBackend: Bool = true
    ) -> String {
        guard hasBackend else {
            return "Remove all health data from this machine? Nobody else has it. [y/N] "
        }
        let loss =
            unsent == 0
            ? ""
            : counted(unsent, unsent == 1 ? "samples was" : "samples were")
                + " never sent to the backend and would be lost.\n"
        let whose = email.map { " of \($0)".forReport } ?? ""
        return "\(loss)Log out and remove all data\(whose) from this machine? [y/N] "
    }

    /// Returns the receipt for people: `logged out; removed:`, and a line for each kind
    /// that there was.
    public static func lines(_ receipt: WipeReceipt, hasBackend: Bool = true) -> [String] {
        let entries = receipt.entries.filter { $0.count > 0 }
        guard !entries.isEmpty else { return ["logged out"] }
        let width = entries.map { String($0.count).count }.max() ?? 0
        return [hasBackend ? "logged out; removed:" : "removed:"]
            + entries.map { entry in
                let space = width - String(entry.count).count + 2
                return String(repeating: " ", count: space) + counted(entry.count, entry.name)
            }
    }
}

/// The result of `auth logout`.
public struct LogoutResult: Reported {
    let receipt: WipeReceipt?

    /// - Parameter receipt: what was removed; `nil` if the data stays.
    public init(_ receipt: WipeReceipt?) { self.receipt = receipt }

    public static let report = Report<LogoutResult>([
        Column("logged_out", "true") { _ in true },
        Column(
            "removed", "number of removed entries by kind; none if data stays",
            as: { .map(.integer) }, isOptional: true
        ) { result in
            guard let receipt = result.receipt else { return .null }
            return .object(
                receipt.entries.map {
                    .init(name: $0.name.replacing(" ", with: "_"), value: .integer($0.count))
                })
        },
    ])
}
