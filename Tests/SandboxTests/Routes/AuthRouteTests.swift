import JSON
import Testing

@testable import clarity_jobs_sandbox

@Suite struct AuthRouteTests {
    @Test func `the demo user logs in and is told who it is`() throws {
        let bench = try Bench()

        let answer = try bench.call(
            "POST", "/auth/login",
            ["email": "Demo@Example.com", "password": "Demo-Passw0rd!", "remember_me": true])
        let me = try bench.call(
            "GET", "/auth/me", token: try answer.body["tokens"]?["access_token"].string)

        #expect(answer.status == 200)
        #expect(answer.body["tokens"]?["token_type"] == "bearer")
        #expect(answer.body["tokens"]?["expires_in"] == 3600)
        #expect(answer.body["user"] == me.body)
        #expect(me.body["user_id"] == .string(Seed.user))
        #expect(me.body["last_login"] == .time(Bench.start))
        #expect(me.body["status"] == "active")
    }

    @Test(arguments: [
        ("demo@example.com", "wrong"), ("nobody@example.com", "Demo-Passw0rd!"),
    ])
    func `a wrong login is 401 with its code`(_ email: String, _ password: String) throws {
        let bench = try Bench()

        let answer = try bench.call(
            "POST", "/auth/login", ["email": .string(email), "password": .string(password)])

        #expect(answer.status == 401)
        #expect(answer.body["error"]?["code"] == "invalid_credentials")
    }

    @Test func `an access token ends with its life`() throws {
        let bench = try Bench(tokenLife: .seconds(60))
        let token = try bench.token()

        bench.clock.now = Bench.start + .milliseconds(59_999)
        let before = try bench.call("GET", "/auth/me", token: token)
        bench.clock.now = Bench.start + .seconds(60)
        let after = try bench.call("GET", "/auth/me", token: token)

        #expect(before.status == 200)
        #expect(after.status == 401)
    }

    @Test func `a refresh token is good once`() throws {
        let bench = try Bench()
        let old = try bench.login()
        let body: JSON = ["refresh_token": old["refresh_token"] ?? .null]

        let first = try bench.call("POST", "/auth/refresh", body)
        let second = try bench.call("POST", "/auth/refresh", body)
        let renewed = try bench.call(
            "POST", "/auth/refresh", ["refresh_token": first.body["refresh_token"] ?? .null])

        #expect(first.status == 200)
        #expect(first.body["refresh_token"] != old["refresh_token"])
        #expect(second.status == 401)
        #expect(second.body == ["error": "invalid_token"])
        #expect(renewed.status == 200)
        let token = try first.body["access_token"].string
        #expect(try bench.call("GET", "/auth/me", token: token).status == 200)
    }

    @Test func `an access token does not refresh, a refresh token gives no access`() throws {
        let bench = try Bench()
        let tokens = try bench.login()

        let refreshed = try bench.call(
            "POST", "/auth/refresh", ["refresh_token": tokens["access_token"] ?? .null])
        let me = try bench.call("GET", "/auth/me", token: try tokens["refresh_token"].string)

        #expect(refreshed.status == 401)
        #expect(me.status == 401)
    }

    @Test func `a refresh token ends after 30 days`() throws {
        let bench = try Bench()
        let body: JSON = ["refresh_token": try bench.login()["refresh_token"] ?? .null]

        bench.clock.now = Bench.start + .seconds(30 * 86_400)

        #expect(try bench.call("POST", "/auth/refresh", body).status == 401)
    }

    @Test func `logout revokes the session's tokens and no other's`() throws {
        let bench = try Bench()
        let left = try bench.login()
        let kept = try bench.login()
        let body: JSON = ["refresh_token": left["refresh_token"] ?? .null]

        let answer = try bench.call(
            "POST", "/auth/logout", body, token: try left["access_token"].string)

        #expect(answer.status == 200)
        let leftToken = try left["access_token"].string
        #expect(try bench.call("GET", "/auth/me", token: leftToken).status == 401)
        #expect(try bench.call("POST", "/auth/refresh", body).status == 401)
        let keptToken = try kept["access_token"].string
        #expect(try bench.call("GET", "/auth/me", token: keptToken).status == 200)
    }

    @Test func `a new user is registered, logs in and verifies the address`() throws {
        let bench = try Bench()

        let registered = try bench.call("POST", "/auth/register", .registration())
        let login = try bench.call(
            "POST", "/auth/login", ["email": "new@example.com", "password": "Fresh-Passw0rd"])
        let token = try login.body["tokens"]?["access_token"].string
        let mail = try bench.call("GET", "/_sandbox/mail").body["mail"].elements
        let wrong = try bench.call("POST", "/auth/verify-email", ["code": "0"], token: token)
        let right = try bench.call(
            "POST", "/auth/verify-email", ["code": mail[0]["code"] ?? .null], token: token)

        #expect(registered.status == 201)
        #expect(registered.body["status"] == "pending_verification")
        #expect(mail.count == 1)
        #expect(login.body["user"]?["email_verified"] == false)
        #expect(wrong.status == 400)
        #expect(right.status == 200)
        let me = try bench.call("GET", "/auth/me", token: token)
        #expect(me.body["status"] == "active")
    }

    @Test func `an address is registered once`() throws {
        let bench = try Bench()

        let answer = try bench.call(
            "POST", "/auth/register", JSON.registration().with("email", "DEMO@example.com"))

        #expect(answer.status == 409)
    }

    @Test(
        arguments: [
            ("email", "no-address", "value_error"), ("email", "a@b", "value_error"),
            ("email", nil, "missing"), ("password", "short1!", "string_too_short"),
            ("password", "no-upper-1", "value_error"), ("password", "NO-LOWER-1", "value_error"),
            ("password", "No-Digits-", "value_error"), ("password", "NoSpecial1", "value_error"),
            ("first_name", "", "string_too_short"),
            ("last_name", "a\u{7}", "string_control_character"),
            ("phone_number", 5, "string_type"), ("terms_accepted", false, "value_error"),
            ("privacy_policy_accepted", "yes", "bool_type"),
        ] as [(String, JSON?, String)])
    func `a faulty registration is refused with its place`(
        _ field: String, _ value: JSON?, _ type: String
    ) throws {
        let bench = try Bench()

        let answer = try bench.call(
            "POST", "/auth/register", JSON.registration().with(field, value))

        #expect(answer.status == 422)
        #expect(try answer.body.faults == ["body.\(field) \(type)"])
    }
}
