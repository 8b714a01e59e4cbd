import JSON

extension LoopRoutes {
    private static let scope = "full_access"

    func problem(
        _ status: Int, _ type: String, _ text: String, _ call: Service.Call
    ) -> Response {
        .nestedProblem(status, type, text, instance: call.request.path)
    }

    func register(_ call: Service.Call, _ service: Service) throws -> Response {
        let body = try call.laxBody()
        var validation = Validation.lax
        let email = validation.email(body["email"])
        let password = validation.text(body["password"], 8...Int.max)
        let name = validation.text(body["display_name"], required: false)
        try validation.finish()
        try count(.register, call)
        if has(.noSignup) {
            return problem(403, "self_signup_disabled", "Nobody can register here.", call)
        }
        guard let email, let password else { return problem(500, "registration_error", "", call) }
        guard isStrong(password) else { return weakPassword }
        let account = Account(
            id: service.identifiers.uuid(), email: email, firstName: name ?? "", lastName: "",
            isVerified: false, createdAt: call.now)
        let hash = service.hash(of: password)
        return try service.store.transaction {
            guard try service.store.add(account, hash, code: service.identifiers.code()) else {
                return .detail(409, "[AUTHENTICATION_ERROR] User already exists")
            }
            guard !has(.verifiedSignup) else {
                return .json(202, ["requires_email_verification": true])
            }
            return .ok(try newTokens(for: account.id, call, service))
        }
    }

    func login(_ call: Service.Call, _ service: Service) throws -> Response {
        let body = try call.laxBody()
        var validation = Validation.lax
        let email = validation.email(body["email"])
        let password = validation.text(body["password"])
        _ = validation.flag(body["remember_me"], required: false)
        _ = validation.object(body["device_info"], required: false)
        try validation.finish()
        try count(.login, call)
        guard let email, let password else { return problem(500, "authentication_error", "", call) }
        if has(.lockout), lockouts.isLocked(email, at: call.now) {
            let end = (call.now + Lockouts.span).offsetText
            return problem(429, "account_locked", "The account is locked until \(end).", call)
        }
        // No user's password is longer, and hashing such a text would take correspondingly long.
        guard password.utf8.count <= 1024, let account = try service.store.account(email: email),
            try service.store.password(of: account.id)?.matches(password) == true
        else {
            lockouts.strike(email)
            return problem(
                401, "invalid_credentials", "The email or the password is wrong.", call)
        }
        guard account.isVerified else {
            return problem(403, "email_not_verified", "The email is not verified.", call)
        }
        lockouts.forget(email)
        return try service.store.transaction {
            try service.store.noteLogin(of: account.id, at: call.now)
            return .ok(try newTokens(for: account.id, call, service))
        }
    }

    /// Issues a new access token.
    ///
    /// The refresh token comes from the header if there is one, else from the body. It stays the
    /// same.
    func refresh(_ call: Service.Call, _ service: Service) throws -> Response {
        let token: String
        if let header = call.request.authorization {
            token = self.token(of: call.request) ?? header
        } else {
            let body = try call.laxValue()
            if body.value != nil, body.value != .null {
                guard case .object = body.value else {
                    if has(.wrongStatuses) { return .crash }
                    var validation = Validation.lax
                    _ = validation.object(body, "model_attributes_type")
                    return .unprocessable(validation.faults)
                }
            }
            guard case .string(let text)? = body["refresh_token"].value, !text.isEmpty else {
                return problem(422, "missing_refresh_token", "A refresh token is missing.", call)
            }
            token = text
        }
        return try service.store.transaction {
            guard let grant = try service.store.grant(token, .refresh, at: call.now) else {
                return has(.wrongStatuses)
                    ? problem(500, "refresh_error", "The token could not be refreshed.", call)
                    : problem(401, "invalid_refresh_token", "The token is not good.", call)
            }
            let access = service.identifiers.token()
            try service.store.add(
                access, .access, grant, until: call.now + service.settings.tokenLife)
            return .ok(service.tokens(access, token, scope: LoopRoutes.scope))
        }
    }

    func logout(_ call: Service.Call, _ service: Service) throws -> Response {
        let isKept = has(.lastingTokens)
        if call.request.authorization != nil {
            guard let token = token(of: call.request),
                let grant = try service.store.grant(token, .access, at: call.now)
            else {
                return problem(401, "authentication_required", "The token is not good.", call)
            }
            if !isKept { try service.store.end(session: grant.session) }
        } else {
            let body = try call.laxValue()
            guard body.value != nil else {
                return problem(422, "missing_token", "There is nobody to sign out.", call)
            }
            if !isKept, case .string(let token)? = body["refresh_token"].value,
                let grant = try service.store.grant(token, .refresh, at: call.now)
            {
                try service.store.end(session: grant.session)
            }
        }
        return .ok(["message": "Successfully logged out"])
    }

    func me(_ account: Account) -> Response {
        let isKnown = !has(.noEmail)
        return .ok([
            "user_id": .string(account.id), "email": isKnown ? .string(account.email) : .null,
            "email_verified": .bool(isKnown && account.isVerified),
            "display_name": isKnown ? displayName(account) : .null,
            "auth_provider": "cognito",
        ])
    }

    func updateMe(_ call: Service.Call, _ service: Service) throws -> Response {
        let body = try call.laxBody()
        var account = try call.account
        var validation = Validation.lax
        let name = validation.text(body["display_name"], required: false)
        // The address is validated but not changed, because it belongs to the login.
        _ = validation.text(body["email"], required: false)
        try validation.finish()
        if let name {
            try service.store.rename(account.id, to: name)
            (account.firstName, account.lastName) = (name, "")
        }
        return .ok([
            "user_id": .string(account.id), "email": .string(account.email),
            "display_name": displayName(account), "updated": true,
        ])
    }

    private func displayName(_ account: Account) -> JSON {
        let name = [account.firstName, account.lastName].filter { !$0.isEmpty }
        return name.isEmpty ? .null : .string(name.joined(separator: " "))
    }

    private func newTokens(
        for user: String, _ call: Service.Call, _ service: Service
    ) throws -> JSON {
        let grant = Grant(user: user, session: service.identifiers.uuid())
        return try service.newTokens(grant, scope: LoopRoutes.scope, at: call.now)
    }
}

// The routes that send codes by mail and accept them.

extension LoopRoutes {
    func confirmEmail(_ call: Service.Call, _ service: Service) throws -> Response {
        try withAccount(call, service, fields: ["code"]) { account, body in
            guard let code = body["code"].value?.text,
                try service.store.verify(account.id, code: code)
            else { return invalidCode(call) }
            return .ok(["status": "confirmed"])
        }
    }

    func resendConfirmation(_ call: Service.Call, _ service: Service) throws -> Response {
        try withAccount(call, service) { account, _ in
            if !account.isVerified {
                try service.store.mail(account.id, code: service.identifiers.code())
            }
            return .ok(["status": "sent"])
        }
    }

    /// Sends a code by mail; nothing changes until the code comes back.
    func forgotPassword(_ call: Service.Call, _ service: Service) throws -> Response {
        try withAccount(call, service) { account, _ in
            try service.store.mail(account.id, code: service.identifiers.code())
            return .ok(["status": "sent"])
        }
    }

    func resetPassword(_ call: Service.Call, _ service: Service) throws -> Response {
        try withAccount(call, service, fields: ["code", "new_password"]) { account, body in
            guard let code = body["code"].value?.text,
                let password = body["new_password"].value?.text, isStrong(password)
            else { return weakPassword }
            guard try service.store.reset(service.hash(of: password), of: account.id, code: code)
            else { return invalidCode(call) }
            return .ok(["status": "reset"])
        }
    }

    /// Answers a call about the account of the body's `email`; `fields` are required texts.
    private func withAccount(
        _ call: Service.Call, _ service: Service, fields: [String] = [],
        _ answer: (Account, Node) throws -> Response
    ) throws -> Response {
        let body = try call.laxBody()
        var validation = Validation.lax
        let email = validation.email(body["email"])
        for field in fields {
            _ = validation.text(body[field], (field == "new_password" ? 8 : 0)...Int.max)
        }
        try validation.finish()
        guard let email, let account = try service.store.account(email: email) else {
            return problem(404, "user_not_found", "There is no such user.", call)
        }
        return try answer(account, body)
    }

    private func invalidCode(_ call: Service.Call) -> Response {
        problem(400, "invalid_code", "This is not the code that was sent.", call)
    }

    var weakPassword: Response {
        .detail(400, "[INVALID_CREDENTIALS] the password lacks a kind of character")
    }

    func isStrong(_ password: String) -> Bool {
        password.contains(where: \.isUppercase) && password.contains(where: \.isLowercase)
            && password.contains(where: \.isNumber) && password.utf8.count <= 256
    }
}
