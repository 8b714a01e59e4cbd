@testable import Backend
@testable import BackendContract
import HealthModel

import ClarityScheduler
import Testing

struct APIClientAccountTests {
    private let registration = Registration(
        email: "ada@example.com", password: Secret("Abcdef1!"), firstName: "Ada",
        lastName: "Byron", displayName: "Ada B", acceptsTerms: true)

    @Test func `a registration has the fields of its dialect`() async throws {
        let blueprint = ClientBench(
            .status(
                201,
                #"{"user_id":"u1","email":"ada@example.com","status":"pending_verification","#
                    + #""verification_email_sent":true}"#), session: nil)
        let loop = ClientBench(
            .status(202, #"{"requires_email_verification":true}"#), dialect: .loop, session: nil)

        let results = try await [
            blueprint.client.register(registration), loop.client.register(registration),
        ]

        #expect(
            results == [
                RegistrationResult(userID: "u1", needsVerification: true),
                RegistrationResult(userID: nil, needsVerification: true),
            ])
        #expect(
            blueprint.transport.bodies == [
                #"{"email":"ada@example.com","password":"Abcdef1!","first_name":"Ada","#
                    + #""last_name":"Byron","terms_accepted":true,"privacy_policy_accepted":true}"#
            ])
        #expect(
            loop.transport.bodies == [
                #"{"email":"ada@example.com","password":"Abcdef1!","display_name":"Ada B"}"#
            ])
        #expect(loop.transport.bearers == [nil])
        #expect(loop.sessions.kept == nil)
    }

    @Test func `a registration that returns tokens stores no session`() async throws {
        let bench = ClientBench(.status(200, newTokens), dialect: .loop, session: nil)

        let result = try await bench.client.register(registration)

        #expect(result == RegistrationResult(userID: nil, needsVerification: false))
        #expect(bench.sessions.kept == nil)
    }

    @Test func `a registration that lacks something is not sent`() async {
        let bench = ClientBench(.status(201), session: nil)
        var short = registration
        short.password = Secret("abc")
        var nameless = registration
        nameless.lastName = nil

        let mets = [
            await failure { [short] () throws(APIError) in try await bench.client.register(short) },
            await failure { [nameless] () throws(APIError) in
                try await bench.client.register(nameless)
            },
        ]

        let rule =
            "8 characters or more, and among them an upper-case letter, a lower-case letter, a digit "
            + "and another character"
        #expect(
            mets == [.passwordTooWeak(rule), .refused("the registration lacks `last_name`")])
        #expect(bench.transport.requests.isEmpty)
    }

    @Test func `a registration whose answer was lost is not made twice`() async {
        let bench = ClientBench(.failure(.reset), session: nil)

        let met = await failure { () throws(APIError) in
            try await bench.client.register(registration)
        }

        #expect(met == .interrupted)
        #expect(bench.transport.requests.count == 1)
    }

    @Test func `an account is read in both forms`() async throws {
        let blueprint = ClientBench(
            .status(
                200,
                #"{"user_id":"u1","first_name":"Ada","last_name":"Byron","email":"a@b.c","#
                    + #""email_verified":true,"permissions":["x"]}"#))
        let loop = ClientBench(
            .status(
                200,
                #"{"user_id":"u1","email":null,"email_verified":false,"display_name":null,"#
                    + #""auth_provider":"cognito"}"#), dialect: .loop)

        var ada = UserProfile(
            userID: "u1", email: "a@b.c", displayName: "Ada Byron", isVerified: true)
        ada.details.firstName = "Ada"
        ada.details.lastName = "Byron"
        ada.details.permissions = ["x"]
        var bare = UserProfile(userID: "u1", email: nil, displayName: nil, isVerified: false)
        bare.details.provider = "cognito"
        #expect(try await blueprint.client.me() == ada)
        #expect(try await loop.client.me() == bare)
    }

    @Test func `an account is changed with what is given alone`() async throws {
        let bench = ClientBench(
            .status(200, #"{"user_id":"u1","email":"a@b.c","display_name":"A","updated":true}"#),
            dialect: .loop)

        let profile = try await bench.client.updateMe(displayName: "A")

        #expect(profile == UserProfile(userID: "u1", email: "a@b.c", displayName: "A"))
        #expect(bench.transport.calls == ["PUT /auth/me"])
        #expect(bench.transport.bodies == [#"{"display_name":"A"}"#])
    }

    @Test func `mails and codes go where the dialect has them`() async throws {
        let bench = ClientBench(.status(200, #"{"status":"sent"}"#), dialect: .loop, session: nil)
        let client = bench.client

        try await client.verifyEmail("a@b.c", code: Secret("123"))
        try await client.resendVerification(to: "a@b.c")
        try await client.forgotPassword("a@b.c")
        try await client.resetPassword(
            "a@b.c", code: Secret("123"), newPassword: Secret("12345678"))

        #expect(
            bench.transport.calls == [
                "POST /auth/confirm-email", "POST /auth/resend-confirmation",
                "POST /auth/forgot-password", "POST /auth/reset-password",
            ])
        #expect(
            bench.transport.bodies == [
                #"{"email":"a@b.c","code":"123"}"#, #"{"email":"a@b.c"}"#, #"{"email":"a@b.c"}"#,
                #"{"email":"a@b.c","code":"123","new_password":"12345678"}"#,
            ])
        #expect(bench.transport.bearers == [nil, nil, nil, nil])
    }

    @Test func `the founding documents' code goes with the token and without the address`()
        async throws
    {
        let bench = ClientBench(.status(200, #"{"message":"m"}"#))

        try await bench.client.verifyEmail("a@b.c", code: Secret("123"))

        #expect(bench.transport.calls == ["POST /auth/verify-email"])
        #expect(bench.transport.bodies == [#"{"code":"123"}"#])
        #expect(bench.transport.bearers == ["Bearer old-access"])
    }

    @Test func `a password that is too short is not sent with its code`() async {
        let bench = ClientBench(.status(200), dialect: .loop, session: nil)

        let met = await failure { () throws(APIError) in
            try await bench.client.resetPassword(
                "a@b.c", code: Secret("1"), newPassword: Secret("short"))
        }

        #expect(met == .passwordTooWeak("8 characters or more"))
        #expect(bench.transport.requests.isEmpty)
    }

    @Test(
        arguments: [
            (
                "[INVALID_CREDENTIALS] Password did not conform with policy: Password not long "
                    + "enough, use 12 characters",
                "Password did not conform with policy: Password not long enough, use 12 characters"
            ),
            ("[INVALID_CREDENTIALS] `Some-passw0rd` is too common", nil),
            ("[INVALID_CREDENTIALS] SOME-PASSW0RD is too common", nil),
            ("[INVALID_CREDENTIALS]", nil),
            ("[INVALID_CREDENTIALS] not 'Some' and not 20261120", "not ... and not #"),
        ] as [(String, String?)])
    func `a refusal of a password is reported without the password`(
        detail: String, words: String?
    ) async {
        let bench = ClientBench(
            .status(400, #"{"detail":"\#(detail)"}"#), dialect: .loop, session: nil)

        let met = await failure { () throws(APIError) in
            try await bench.client.resetPassword(
                "a@b.c", code: Secret("1"), newPassword: Secret("Some-passw0rd"))
        }

        #expect(met == .passwordRefused(words))
    }

    @Test func `a login whose tokens nobody owns is no session`() async {
        let bench = ClientBench(
            .status(200, newTokens), .status(401, #"{"detail":"Authentication required"}"#),
            dialect: .loop, session: nil)

        let met = await failure { () throws(APIError) in
            try await bench.client.login(email: "a@b.c", password: Secret("pw"))
        }

        #expect(met == .tokenUnclear)
        #expect(bench.sessions.kept == nil)
    }

    @Test(arguments: [
        (#"{"access_token":"a","expires_in":1}"#, "login: `refresh_token` is missing"),
        (#"{"access_token":"a","refresh_token":"r"}"#, "login: `expires_in` is missing"),
        (#"{"token_type":"bearer"}"#, "login: `tokens` is missing"),
    ])
    func `a login answer that lacks a field is refused by its name`(body: String, part: String)
        async
    {
        let bench = ClientBench(.status(200, body), dialect: .loop, session: nil)

        let met = await failure { () throws(APIError) in
            try await bench.client.login(email: "a@b.c", password: Secret("pw"))
        }

        #expect(met == .decoding(part))
    }

    @Test func `a login that may be counted is sent once`() async {
        let bench = ClientBench(.status(500, "Internal Server Error"), dialect: .loop, session: nil)

        let met = await failure { () throws(APIError) in
            try await bench.client.login(email: "a@b.c", password: Secret("pw"))
        }

        #expect(met == .server(status: 500, after: nil))
        #expect(bench.transport.requests.count == 1)
    }

    @Test func `a token refused right after its renewal keeps the session`() async {
        let bench = ClientBench(
            FakeTransport { request, _ in
                request.url.hasSuffix("/auth/refresh") ? .status(200, newTokens) : .status(401)
            }, dialect: .loop)

        let met = await failure { () throws(APIError) in try await bench.client.me() }

        #expect(met == .tokenUnclear)
        #expect(bench.sessions.kept == testSession("new"))
    }
}
