import JSON

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
