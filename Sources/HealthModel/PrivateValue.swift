public import ClarityScheduler

/// A value that is health data or a secret, or contains some, and never becomes text by accident.
///
/// In a string literal it causes a warning, which stops the build in this project. Any other way to
/// text gives `<redacted>`: inside an array, an optional or another value, and through `print`,
/// `dump` or an assertion. Code that needs the text must call a method that says so by its name.
public protocol PrivateValue: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{}

extension PrivateValue {
    public var description: String { "<redacted>" }
    public var debugDescription: String { "<redacted>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension DefaultStringInterpolation {
    /// Writes `<redacted>`, and causes a warning at compile time.
    ///
    /// It is deprecated and not unavailable, because the compiler silently passes over an
    /// unavailable overload if there is another.
    @available(*, deprecated, message: "health data and secrets do not belong in a text")
    public mutating func appendInterpolation(_ value: some PrivateValue) {
        appendLiteral(value.description)
    }
}

/// A token, password or key; only `reveal()` returns its text.
public struct Secret: Hashable, Sendable, PrivateValue {
    private let text: String

    /// Wraps a secret.
    public init(_ text: String) { self.text = text }

    /// Reads a token, a key or an address: the first line that is not blank, without the blanks
    /// around it. Lines end as on Unix or as on Windows.
    ///
    /// Returns `nil` if there is none, or it is not UTF-8.
    public init?(firstLineOf bytes: some Sequence<UInt8>) {
        func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == 0x09 }
        let line = bytes.split { $0 == 0x0A || $0 == 0x0D }
            .map { $0.drop(while: isBlank) }.first { !$0.isEmpty }
        guard let line, let last = line.lastIndex(where: { !isBlank($0) }),
            let text = String(validating: line[...last], as: UTF8.self)
        else { return nil }
        self.text = text
    }

    /// Returns the secret itself, for a request to the backend or an encrypted store only.
    public func reveal() -> String { text }
}

/// A logged-in user and their tokens.
public struct Session: Hashable, Sendable, PrivateValue {
    public var userID: String
    public var email: String
    public var accessToken: Secret
    public var refreshToken: Secret
    /// When the access token expires.
    public var expiresAt: Instant
    /// The address of the backend that issued the tokens, and the only one that may receive them;
    /// empty until the session is stored.
    public var backend: String

    /// Creates a session.
    public init(
        userID: String, email: String, accessToken: Secret, refreshToken: Secret,
        expiresAt: Instant, backend: String = ""
    ) {
        self.userID = userID
        self.email = email
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.expiresAt = expiresAt
        self.backend = backend
    }
}

/// The history of the session without its tokens; it stays after the session has ended, until a
/// logout.
public struct SessionRecord: Hashable, Sendable, PrivateValue {
    /// A renewal or login that failed, in our words.
    public struct Refusal: Hashable, Sendable {
        public var at: Instant
        public var reason: String

        /// Creates a note of a failure.
        public init(at: Instant, reason: String) {
            self.at = at
            self.reason = reason
        }
    }

    /// Successive renewals that the backend answered with 500.
    ///
    /// Such an answer may mean an outage. In one dialect it is also the answer to an expired
    /// refresh token. Only time shows which one it was. A session with lasting trouble counts as
    /// ended: runs wait for a login. Each job's next occurrence still tries to renew it once.
    public struct Trouble: Hashable, Sendable {
        /// The number of failed renewals from which the session may count as ended: 3.
        public static let lastingCount = 3
        /// The time since the first failure from which the session may count as ended: 15 min.
        public static let lastingSpan = Duration.seconds(15 * 60)

        public var since: Instant
        public var count: Int

        /// Creates a series with this start and count.
        public init(since: Instant, count: Int) {
            self.since = since
            self.count = count
        }

        /// Returns the series with one more renewal.
        ///
        /// A start in the future, left by a clock that was stepped back, is moved to now.
        package static func next(after trouble: Trouble?, at now: Instant) -> Trouble {
            guard let trouble else { return Trouble(since: now, count: 1) }
            return Trouble(
                since: min(trouble.since, now), count: min(trouble.count, Int(Int32.max)) + 1)
        }

        /// Returns whether the session counts as ended.
        public func isLasting(at now: Instant) -> Bool {
            count >= Trouble.lastingCount && now - since >= Trouble.lastingSpan
        }
    }

    /// The e-mail address of the last login.
    public var email: String
    /// The address of the backend that issued the session.
    public var backend: String
    /// When that login was; `nil` if this was not recorded.
    public var loggedInAt: Instant?
    /// When the tokens were last renewed; `nil` if never.
    public var renewedAt: Instant?
    /// The last failed renewal or login since then.
    public var refusal: Refusal?
    public var trouble: Trouble?

    /// Creates the record of a session that was neither renewed nor refused yet.
    package init(email: String, backend: String, loggedInAt: Instant?) {
        self.email = email
        self.backend = backend
        self.loggedInAt = loggedInAt
    }
}

/// The answer to a request for a login.
public enum LoginReservation: Hashable, Sendable {
    /// The login may be sent; it is already recorded under this number.
    case granted(Int64)
    /// The login must not be sent before this time.
    case usedUp(until: Instant)
}
