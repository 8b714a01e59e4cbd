import ClarityScheduler

// Answers about accounts and sessions as they are on the wire, for every dialect. A field that only
// some dialects have is optional. Only fields that are used are declared; the others are ignored.

/// The tokens of a session.
struct TokensWire: Decodable {
    let accessToken: String
    /// A backend that does not replace the refresh token may leave it out.
    let refreshToken: String?
    let expiresIn: Double

    private enum CodingKeys: String, CodingKey {
        case accessToken = "access_token"
        case refreshToken = "refresh_token"
        case expiresIn = "expires_in"
    }
}

/// The answer to a login: tokens and user, or the tokens alone at the top level.
struct LoginWire: Decodable {
    let user: UserWire?
    let tokens: TokensWire?
    /// Whether the answer consists of the tokens alone.
    let isBare: Bool
    let secondFactorToken: String?

    private enum CodingKeys: String, CodingKey {
        case user
        case tokens
        case secondFactorToken = "mfa_session_token"
        case accessToken = "access_token"
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        user = try fields.decodeIfPresent(UserWire.self, forKey: .user)
        secondFactorToken = try fields.decodeIfPresent(String.self, forKey: .secondFactorToken)
        isBare = !fields.contains(.tokens) && fields.contains(.accessToken)
        tokens =
            try isBare
            ? TokensWire(from: decoder) : fields.decodeIfPresent(TokensWire.self, forKey: .tokens)
    }
}

/// The answer to a refresh: the tokens, at the top level or under `tokens`.
struct RefreshWire: Decodable {
    let tokens: TokensWire

    private enum CodingKeys: String, CodingKey {
        case tokens
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        tokens =
            if fields.contains(.tokens) {
                try fields.decode(TokensWire.self, forKey: .tokens)
            } else {
                try TokensWire(from: decoder)
            }
    }
}

/// An account.
struct UserWire: Decodable {
    let userID: String
    let email: String?
    let isVerified: Bool?
    let displayName: String?
    let firstName: String?
    let lastName: String?
    // Fields that are only shown: a value of another type counts as missing.
    let role: Lenient<String>?
    let permissions: Lenient<[String]>?
    let status: Lenient<String>?
    let createdAt: Lenient<String>?
    let lastLogin: Lenient<String>?
    let hasSecondFactor: Lenient<Bool>?
    let provider: Lenient<String>?

    private enum CodingKeys: String, CodingKey {
        case userID = "user_id"
        case email
        case isVerified = "email_verified"
        case displayName = "display_name"
        case firstName = "first_name"
        case lastName = "last_name"
        case role
        case permissions
        case status
        case createdAt = "created_at"
        case lastLogin = "last_login"
        case hasSecondFactor = "mfa_enabled"
        case provider = "auth_provider"
    }

    /// The account as callers get it.
    var profile: UserProfile {
        let names = [firstName, lastName].compactMap { $0 }.filter { !$0.isEmpty }
        let joined = names.isEmpty ? nil : names.joined(separator: " ")
        var profile = UserProfile(
            userID: userID, email: email, displayName: displayName ?? joined,
            isVerified: isVerified)
        profile.details = UserProfile.Details(
            firstName: firstName, lastName: lastName, role: role?.value,
            permissions: permissions?.value ?? [], status: status?.value,
            createdAt: createdAt?.value.flatMap { Instant(rfc3339: $0) },
            lastLogin: lastLogin?.value.flatMap { Instant(rfc3339: $0) },
            hasSecondFactor: hasSecondFactor?.value, provider: provider?.value)
        return profile
    }
}

/// A value; `nil` if the answer has a value of another type.
struct Lenient<Value: Decodable>: Decodable {
    let value: Value?

    init(from decoder: any Decoder) throws {
        do {
            value = try decoder.singleValueContainer().decode(Value.self)
        } catch is DecodingError {
            value = nil
        }
    }
}

/// The answer to a registration: an account, tokens for it, or a note that it must be confirmed.
struct RegistrationWire: Decodable {
    let userID: String?
    let status: String?
    let needsVerification: Bool?
    let accessToken: String?

    private enum CodingKeys: String, CodingKey {
        case userID = "user_id"
        case status
        case needsVerification = "requires_email_verification"
        case accessToken = "access_token"
    }
}

/// The answer to a request for a service's health, at the top level or under `data`.
struct HealthWire: Decodable {
    let status: String
    let service: String?
    let version: String?

    private enum CodingKeys: String, CodingKey {
        case data, status, service, version
    }

    init(from decoder: any Decoder) throws {
        var fields = try decoder.container(keyedBy: CodingKeys.self)
        if fields.contains(.data) {
            fields = try fields.nestedContainer(keyedBy: CodingKeys.self, forKey: .data)
        }
        status = try fields.decode(String.self, forKey: .status)
        service = try fields.decodeIfPresent(String.self, forKey: .service)
        version = try fields.decodeIfPresent(String.self, forKey: .version)
    }
}
