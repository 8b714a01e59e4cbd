import JSON

// The routes that send codes by mail and accept them.

extension LoopRoutes {
    func confirmEmail(_ call: Service.Call, _ service: Service) throws -> Response {
        let body = try call.laxBody()
        var validation = LaxValidation()
        let email = validation.email(body["email"])
        let code = validation.text(body["code"])
        try validation.finish()
        guard let email, let code, let account = try service.store.account(email: email) else {
            return problem(404, "user_not_found", "There is no such user.", call)
        }
        guard try service.store.verify(account.id, code: code) else {
            return problem(400, "invalid_code", "This is not the code that was sent.", call)
        }
        return .json(200, ["status": "confirmed"])
    }

    func resendConfirmation(_ call: Service.Call, _ service: Service) throws -> Response {
        let body = try call.laxBody()
        var validation = LaxValidation()
        let email = validation.email(body["email"])
        try validation.finish()
        guard let email, try service.store.account(email: email) != nil else {
            return problem(404, "user_not_found", "There is no such user.", call)
        }
        return .json(200, ["status": "sent"])
    }

    /// Sends a code by mail; nothing changes until the code comes back.
    func forgotPassword(_ call: Service.Call, _ service: Service) throws -> Response {
        let body = try call.laxBody()
        var validation = LaxValidation()
        let email = validation.email(body["email"])
        try validation.finish()
        guard let email, let account = try service.store.account(email: email) else {
            return problem(404, "user_not_found", "There is no such user.", call)
        }
        try service.store.mail(account.id, code: service.identifiers.code())
        return .json(200, ["status": "sent"])
    }

    func resetPassword(_ call: Service.Call, _ service: Service) throws -> Response {
        let body = try call.laxBody()
        var validation = LaxValidation()
        let email = validation.email(body["email"])
        let code = validation.text(body["code"])
        let password = validation.text(body["new_password"], 8...Int.max)
        try validation.finish()
        guard let email, let code, let account = try service.store.account(email: email) else {
            return problem(404, "user_not_found", "There is no such user.", call)
        }
        guard let password, isStrong(password) else {
            return .detail(
                400, "[INVALID_CREDENTIALS] the password lacks a kind of character")
        }
        let hash = PasswordHash(
            password, salt: service.identifiers.bytes(16),
            iterations: service.settings.passwordIterations)
        guard try service.store.reset(hash, of: account.id, code: code) else {
            return problem(400, "invalid_code", "This is not the code that was sent.", call)
        }
        return .json(200, ["status": "reset"])
    }

    func isStrong(_ password: String) -> Bool {
        password.contains(where: \.isUppercase) && password.contains(where: \.isLowercase)
            && password.contains(where: \.isNumber) && password.utf8.count <= 256
    }
}
