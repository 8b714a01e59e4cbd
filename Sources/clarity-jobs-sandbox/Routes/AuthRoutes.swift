import JSON

extension Service {
    func register(_ call: Call) throws -> Response {
        let body = try call.body()
        var validation = Validation(now: call.now)
        let email = validation.email(body["email"])
        let password = validation.newPassword(body["password"])
        let first = validation.text(body["first_name"], 1...100)
        let last = validation.text(body["last_name"], 1...100)
        let phone = validation.text(body["phone_number"], 3...32, required: false)
        for name in ["terms_accepted", "privacy_policy_accepted"] {
            if validation.flag(body[name]) == false {
                validation.fail(body[name], "must be accepted", "value_error")
            }
        }
        guard validation.faults.isEmpty, let email, let password, let first, let last else {
            return .unprocessable(validation.faults)
        }
        let account = Account(
            id: identifiers.uuid(), email: email, firstName: first, lastName: last,
            phoneNumber: phone, isVerified: false, createdAt: call.now)
        guard try store.add(account, hash(of: password), code: identifiers.code()) else {
            return .problem(409, "this email is registered already", instance: call.request.path)
        }
        return .json(
            201,
            [
                "user_id": .string(account.id), "email": .string(email),
                "status": .string(account.status), "verification_email_sent": true,
                "created_at": .time(account.createdAt),
            ])
    }

    func login(_ call: Call) throws -> Response {
        let body = try call.body()
        var validation = Validation(now: call.now)
        let email = validation.text(body["email"])
        let password = validation.text(body["password"], 1...1024)
        _ = validation.flag(body["remember_me"], required: false)
        _ = validation.object(body["device_info"], required: false)
        try validation.finish()
        guard let email, let password, let known = try store.account(email: email),
            try store.password(of: known.id)?.matches(password) == true
        else {
            return .error(401, code: "invalid_credentials", "the email or the password is wrong")
        }
        return try store.transaction {
            try store.noteLogin(of: known.id, at: call.now)
            var account = known
            account.lastLogin = call.now
            let grant = Grant(user: account.id, session: identifiers.uuid())
            return .ok(["user": profile(account), "tokens": try newTokens(grant, at: call.now)])
        }
    }

    /// Exchanges a refresh token, which is valid only once, for new tokens.
    func refresh(_ call: Call) throws -> Response {
        let body = try call.body()
        var validation = Validation(now: call.now)
        let token = validation.text(body["refresh_token"], 1...1024)
        try validation.finish()
        return try store.transaction {
            guard let token, let grant = try store.grant(token, .refresh, at: call.now) else {
                return .invalidToken
            }
            try store.revoke(token)
            return .ok(try newTokens(grant, at: call.now))
        }
    }

    /// Ends the session of the access token, and that of the refresh token if it belongs to the
    /// same user.
    ///
    /// An unknown refresh token is not an error (RFC 7009).
    func logout(_ call: Call) throws -> Response {
        let body = try call.body()
        var validation = Validation(now: call.now)
        let token = validation.text(body["refresh_token"], 1...1024)
        try validation.finish()
        try store.transaction {
            if let token, let grant = try store.grant(token, .refresh, at: call.now),
                try grant.user == call.account.id
            {
                try store.end(session: grant.session)
            }
            if let caller = call.caller { try store.end(session: caller.session) }
        }
        return .ok(["message": "signed out"])
    }

    func verifyEmail(_ call: Call) throws -> Response {
        let body = try call.body()
        var validation = Validation(now: call.now)
        let code = validation.text(body["code"], 1...32)
        try validation.finish()
        guard let code, try store.verify(try call.account.id, code: code) else {
            return .error(400, code: "invalid_code", "this is not the code that was sent")
        }
        return .ok(["message": "the email is verified"])
    }

    /// Returns the user's profile in the contract's format.
    func profile(_ account: Account) -> JSON {
        [
            "user_id": .string(account.id), "first_name": .string(account.firstName),
            "last_name": .string(account.lastName), "email": .string(account.email),
            "role": "user", "permissions": ["health_data:read", "health_data:write"],
            "status": .string(account.status), "created_at": .time(account.createdAt),
            "last_login": account.lastLogin.map { .time($0) } ?? .null, "mfa_enabled": false,
            "email_verified": .bool(account.isVerified),
        ]
    }

    func hash(of password: String) -> PasswordHash {
        PasswordHash(
            password, salt: identifiers.bytes(16), iterations: settings.passwordIterations)
    }

    /// Issues and stores the tokens of a session.
    func newTokens(_ grant: Grant, scope: String? = nil, at now: Timestamp) throws -> JSON {
        try store.forgetTokens(before: now)
        let access = identifiers.token()
        let refresh = identifiers.token()
        try store.add(access, .access, grant, until: now + settings.tokenLife)
        try store.add(refresh, .refresh, grant, until: now + settings.refreshLife)
        return tokens(access, refresh, scope: scope)
    }

    /// Returns tokens in the format of both contracts; the blueprint has no scope.
    func tokens(_ access: String, _ refresh: String, scope: String?) -> JSON {
        let tokens: JSON = [
            "access_token": .string(access), "refresh_token": .string(refresh),
            "token_type": "bearer",
            "expires_in": .integer(settings.tokenLife.wholeMilliseconds / 1000),
            "scope": .text(scope),
        ]
        return tokens.withoutNulls
    }
}

extension Validation {
    /// Validates a password: 8 to 128 characters with an upper and a lower case letter, a digit and
    /// another character.
    fileprivate mutating func newPassword(_ node: Node) -> String? {
        guard let text = text(node, 8...128) else { return nil }
        guard text.contains(where: \.isUppercase), text.contains(where: \.isLowercase),
            text.contains(where: \.isNumber),
            text.contains(where: { !$0.isLetter && !$0.isNumber })
        else {
            fail(
                node, "must have an upper and a lower case letter, a digit and a special character",
                "value_error")
            return nil
        }
        return text
    }
}
