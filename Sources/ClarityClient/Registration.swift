import ClarityContract
public import ClarityJobs

/// The data of a new account; each backend gets the fields that it has.
public struct Registration: PrivateValue {
    public var email: String
    public var password: Secret
    public var firstName: String?
    public var lastName: String?
    public var displayName: String?
    public var phoneNumber: String?
    /// Whether the user accepts the terms and the privacy policy.
    public var acceptsTerms: Bool

    /// Creates a registration.
    public init(
        email: String, password: Secret, firstName: String? = nil, lastName: String? = nil,
        displayName: String? = nil, phoneNumber: String? = nil, acceptsTerms: Bool = false
    ) {
        self.email = email
        self.password = password
        self.firstName = firstName
        self.lastName = lastName
        self.displayName = displayName
        self.phoneNumber = phoneNumber
        self.acceptsTerms = acceptsTerms
    }

    /// The fields that have a value.
    var values: [BodyField: APIRequests.FieldValue] {
        var values: [BodyField: APIRequests.FieldValue] = [
            .email: .text(email), .password: .secret(password),
            .termsAccepted: .flag(acceptsTerms), .privacyPolicyAccepted: .flag(acceptsTerms),
        ]
        for (field, text) in [
            (BodyField.firstName, firstName), (.lastName, lastName), (.displayName, displayName),
            (.phoneNumber, phoneNumber),
        ] {
            if let text { values[field] = .text(text) }
        }
        return values
    }
}
