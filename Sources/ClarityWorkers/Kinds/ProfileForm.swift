import ClarityClient
import JSON

extension UserProfile {
    /// The profile as it is stored, with the contract's names and without what the backend did not
    /// send.
    var json: [UInt8] {
        let object: JSON = [
            "user_id": .string(userID), "email": .text(email), "display_name": .text(displayName),
            "first_name": .text(details.firstName), "last_name": .text(details.lastName),
            "role": .text(details.role),
            "permissions": details.permissions.isEmpty
                ? .null : .array(details.permissions.prefix(100).map { .string($0) }),
            "status": .text(details.status),
            "email_verified": isVerified.map { .bool($0) } ?? .null,
            "mfa_enabled": details.hasSecondFactor.map { .bool($0) } ?? .null,
            "auth_provider": .text(details.provider), "created_at": .text(details.createdAt),
            "last_login": .text(details.lastLogin),
        ]
        return object.withoutNulls.bytes
    }
}
