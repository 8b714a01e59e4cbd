public import ClarityScheduler

/// Who is logged in, with the tokens that prove it.
public struct Session: Hashable, Sendable, PrivateValue {
    public var userID: String
    public var email: String
    public var accessToken: Secret
    public var refreshToken: Secret
    /// When the access token ends.
    public var expiresAt: Instant
    /// The address of the backend that gave the tokens, and the only one that may see them; empty
    /// as long as it is not kept.
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
