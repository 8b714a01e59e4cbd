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

// The encrypted form of a session.

extension Session {
    var sealedForm: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(field: userID)
        bytes.append(field: email)
        bytes.append(field: accessToken.reveal())
        bytes.append(field: refreshToken.reveal())
        bytes.append(littleEndian: expiresAt.millisecondsSince1970)
        bytes.append(field: backend)
        return bytes
    }

    /// Returns `nil` if the bytes are not a valid `sealedForm`.
    init?(sealedForm: [UInt8]) {
        var reader = ByteReader(sealedForm)
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
