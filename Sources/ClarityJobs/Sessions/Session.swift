public import ClarityScheduler

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
