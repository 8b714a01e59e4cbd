import JSON
import Testing

@testable import clarity_jobs_sandbox

@Suite struct LoopAuthTests {
    @Test func `a login answers one flat object of tokens`() throws {
        let bench = try Bench.loop()

        let answer = try bench.loopLogin()

        #expect(answer.status == 200)
        #expect(answer.body["token_type"] == "bearer")
        #expect(answer.body["expires_in"] == 3600)
        #expect(answer.body["scope"] == "full_access")
        #expect(answer.body["tokens"] == nil && answer.body["user"] == nil)
    }

    @Test(
        arguments: [
            ([], .string(Seed.email), true), ([Quirk.noEmail], .null, false),
        ] as [(Set<Quirk>, JSON, Bool)])
    func `who asks is told in five fields`(
        _ quirks: Set<Quirk>, _ email: JSON, _ isVerified: Bool
    ) throws {
        let bench = try Bench.loop(quirks)

        let me = try bench.call("GET", "/auth/me", token: try bench.loopToken())

        #expect(me.status == 200)
        #expect(me.body["user_id"] == .string(Seed.user))
        #expect(me.body["email"] == email)
        #expect(me.body["email_verified"] == .bool(isVerified))
        #expect(me.body["auth_provider"] == "cognito")
        #expect(me.body["display_name"] == (quirks.isEmpty ? "Demo Person" : .null))
    }

    @Test func `a token is asked for in one form, and one that is not good says one thing`() throws
    {
        let bench = try Bench.loop()
        let token = try bench.loopToken()

        let answers = [nil, "bearer \(token)", "Bearer", "Bearer x", "Basic \(token)"].map {
            value in
            bench.service.reply(
                to: Request(method: "GET", path: "/api/v1/auth/me", authorization: value))
        }

        for answer in answers {
            guard case .whole(let response) = answer.delivery else { throw Bench.Unexpected() }
            #expect(response.status == 401)
            #expect(response.text == #"{"detail":"Authentication required"}"#)
            #expect(response.header("WWW-Authenticate") == "Bearer")
        }
    }

    @Test func `a wrong password is a problem below detail`() throws {
        let bench = try Bench.loop()

        let answer = try bench.loopLogin("wrong")

        #expect(answer.status == 401)
        #expect(answer.body["detail"]?["type"] == "invalid_credentials")
        #expect(answer.body["detail"]?["status"] == 401)
    }

    @Test func `three failures lock an address for 15 minutes, the right password included`() throws
    {
        let bench = try Bench.loop([.lockout])

        let failures = try (0..<3).map { _ in try bench.loopLogin("wrong").status }
        let locked = try bench.response(
            "POST", "/auth/login",
            ["email": .string(Seed.email), "password": .string(Seed.password)])
        bench.clock.now = Bench.start + .milliseconds(15 * 60_000 - 1)
        let last = try bench.loopLogin().status
        bench.clock.now = Bench.start + .seconds(15 * 60)
        let after = try bench.loopLogin().status

        #expect(failures == [401, 401, 401])
        #expect(locked.status == 429)
        #expect(try JSONParser.parse(locked.body)["detail"]?["type"] == "account_locked")
        #expect(locked.header("Retry-After") == nil)
        #expect(last == 429)
        #expect(after == 200)
    }

    @Test func `a login clears the failures before it`() throws {
        let bench = try Bench.loop([.lockout])

        let passwords = ["a", "b", Seed.password, "c", "d", Seed.password]
        let statuses = try passwords.map { try bench.loopLogin($0).status }

        #expect(statuses == [401, 401, 200, 401, 401, 200])
    }

    @Test func `the refresh token stays, and goes in the body`() throws {
        let bench = try Bench.loop()
        let old = try bench.loopLogin().body
        let body: JSON = ["refresh_token": old["refresh_token"] ?? .null]

        let first = try bench.call("POST", "/auth/refresh", body)
        let second = try bench.call("POST", "/auth/refresh", body)

        #expect(first.status == 200 && second.status == 200)
        #expect(first.body["refresh_token"] == old["refresh_token"])
        #expect(first.body["access_token"] != second.body["access_token"])
        let token = try second.body["access_token"].string
        #expect(try bench.call("GET", "/auth/me", token: token).status == 200)
    }

    @Test func `the header goes before the body, and an access token does not refresh`() throws {
        let bench = try Bench.loop([.wrongStatuses])
        let tokens = try bench.loopLogin().body

        let answer = try bench.call(
            "POST", "/auth/refresh", ["refresh_token": tokens["refresh_token"] ?? .null],
            token: try tokens["access_token"].string)

        #expect(answer.status == 500)
        #expect(answer.body["detail"]?["type"] == "refresh_error")
    }

    @Test(
        arguments: [
            ([], ["refresh_token": "x"], 401, "invalid_refresh_token"),
            ([.wrongStatuses], ["refresh_token": "x"], 500, "refresh_error"),
            ([], ["refreshToken": "x"], 422, "missing_refresh_token"),
            ([.wrongStatuses], [:], 422, "missing_refresh_token"),
            ([], nil, 422, "missing_refresh_token"),
        ] as [(Set<Quirk>, JSON?, Int, JSON)])
    func `a refresh without a good token has its problem`(
        _ quirks: Set<Quirk>, _ body: JSON?, _ status: Int, _ type: JSON
    ) throws {
        let bench = try Bench.loop(quirks)

        let answer = try bench.call("POST", "/auth/refresh", body)

        #expect(answer.status == status)
        #expect(answer.body["detail"]?["type"] == type)
    }

    @Test func `a refresh with an array crashes the deployed backend`() throws {
        #expect(try Bench.loop([.wrongStatuses]).response("POST", "/auth/refresh", []) == .crash)
        #expect(try Bench.loop().response("POST", "/auth/refresh", []).status == 422)
    }

    @Test(arguments: [([], 401), ([.lastingTokens], 200)] as [(Set<Quirk>, Int)])
    func `signing out ends the session, or nothing`(_ quirks: Set<Quirk>, _ after: Int) throws {
        let bench = try Bench.loop(quirks)
        let tokens = try bench.loopLogin().body
        let token = try tokens["access_token"].string

        let answer = try bench.call("POST", "/auth/logout", token: token)

        #expect(answer.status == 200)
        #expect(answer.body == ["message": "Successfully logged out"])
        #expect(try bench.call("GET", "/auth/me", token: token).status == after)
        let refresh: JSON = ["refresh_token": tokens["refresh_token"] ?? .null]
        #expect(try bench.call("POST", "/auth/refresh", refresh).status == after)
    }

    @Test func `signing out wants a token or a body`() throws {
        let bench = try Bench.loop()

        let bad = try bench.call("POST", "/auth/logout", token: "x")
        let nothing = try bench.call("POST", "/auth/logout")
        let body = try bench.call("POST", "/auth/logout", [:])

        #expect(bad.status == 401)
        #expect(bad.body["detail"]?["type"] == "authentication_required")
        #expect(nothing.status == 422)
        #expect(body.status == 200)
    }

    @Test func `a new user has tokens at once, and logs in once the address is confirmed`() throws {
        let bench = try Bench.loop()
        let login: JSON = ["email": "new@example.com", "password": "Fresh-Passw0rd"]

        let token = try bench.loopStrangersToken()
        let before = try bench.call("POST", "/auth/login", login)
        let mail = try bench.call("GET", "/_sandbox/mail").body["mail"].elements
        let wrong = try bench.call(
            "POST", "/auth/confirm-email", ["email": "new@example.com", "code": "0"])
        let right = try bench.call(
            "POST", "/auth/confirm-email",
            ["email": "new@example.com", "code": mail[0]["code"] ?? .null])

        #expect(try bench.call("GET", "/auth/me", token: token).status == 200)
        #expect(before.status == 403)
        #expect(before.body["detail"]?["type"] == "email_not_verified")
        #expect(wrong.body["detail"]?["type"] == "invalid_code")
        #expect(right.body == ["status": "confirmed"])
        #expect(try bench.call("POST", "/auth/login", login).status == 200)
    }

    @Test func `where addresses are verified, a registration answers 202 and no tokens`() throws {
        let bench = try Bench.loop([.verifiedSignup])
        let address: JSON = ["email": "new@example.com"]

        let answer = try bench.call(
            "POST", "/auth/register", ["email": "new@example.com", "password": "Fresh-Passw0rd"])
        let first = try bench.call("GET", "/_sandbox/mail").body["mail"].elements
        let resent = try bench.call("POST", "/auth/resend-confirmation", address)
        let second = try bench.call("GET", "/_sandbox/mail").body["mail"].elements

        #expect(answer.status == 202)
        #expect(answer.body == ["requires_email_verification": true])
        #expect(resent.body == ["status": "sent"])
        #expect(first[0]["code"] != nil && second.count == 1)
        #expect(first[0]["code"] != second[0]["code"])
    }

    @Test func `a forgotten password is replaced with the code that came by mail`() throws {
        let bench = try Bench.loop()
        func reset(_ code: JSON) throws -> (status: Int, body: JSON) {
            try bench.call(
                "POST", "/auth/reset-password",
                ["email": .string(Seed.email), "code": code, "new_password": "Fresh-Passw0rd"])
        }

        let forgot = try bench.call(
            "POST", "/auth/forgot-password", ["email": .string(Seed.email)])
        let mail = try bench.call("GET", "/_sandbox/mail").body["mail"].elements
        let wrong = try reset("0")
        let right = try reset(mail[0]["code"] ?? .null)

        #expect(forgot.body == ["status": "sent"])
        #expect(wrong.body["detail"]?["type"] == "invalid_code")
        #expect(right.body == ["status": "reset"])
        #expect(try reset(mail[0]["code"] ?? .null).status == 400)
        #expect(try bench.loopLogin().status == 401)
        #expect(try bench.loopLogin("Fresh-Passw0rd").status == 200)
    }

    @Test(
        arguments: [
            ([.noSignup], "a@example.com", "Fresh-Passw0rd", 403),
            ([], Seed.email, "Fresh-Passw0rd", 409), ([], "a@example.com", "all-lower-case", 400),
            ([], "a@example.com", "short", 422), ([], "nobody", "Fresh-Passw0rd", 422),
        ] as [(Set<Quirk>, String, String, Int)])
    func `a registration that is refused has its status`(
        _ quirks: Set<Quirk>, _ email: String, _ password: String, _ status: Int
    ) throws {
        let bench = try Bench.loop(quirks)

        let answer = try bench.call(
            "POST", "/auth/register", ["email": .string(email), "password": .string(password)])

        #expect(answer.status == status)
    }

    @Test func `a user takes another name`() throws {
        let bench = try Bench.loop()
        let token = try bench.loopToken()

        let answer = try bench.call("PUT", "/auth/me", ["display_name": "Other"], token: token)

        #expect(answer.body["updated"] == true)
        #expect(
            try bench.call("GET", "/auth/me", token: token).body["display_name"] == "Other")
    }
}
