@testable import Backend
@testable import BackendContract
import ClarityScheduler
import ClarityTestSupport
import HealthModel
import HealthStore
import Glibc
import JSON
import Synchronization
import Testing

@testable import ClarityJobs

/// The login at a FHIR server, whose answers the test writes.
@Suite("Login of a FHIR server", .timeLimit(.minutes(1)))
struct FHIRLoginTests {
    private static let base = "https://fhir.example/r4"
    private static let tokenURL = "https://login.example/token"
    private static let secret = ["login": "client-secret", "client_id": "my-job", "secret": "S"]

    /// Returns the options of a job, with the base and the patient.
    private func options(_ more: [String: String]) throws -> FHIRUploadOptions {
        try FHIRUploadOptions(["url": Self.base, "patient": "Patient/1"].merging(more) { $1 })
    }

    private func login(
        _ more: [String: String], _ bench: WorkBench, isDryRun: Bool = false
    ) throws -> FHIRLogin {
        var context = try bench.context(isDryRun: isDryRun) { _ in }
        context.secrets = NoticeSecrets(environment: ["S": "open sesame"])
        return try FHIRLogin(try options(more), context)
    }

    /// Returns what a login says that gets no token.
    private func refusal(
        _ more: [String: String], _ answer: @escaping ScriptedBackend.Answer
    ) async throws -> (outcome: Outcome, requests: [HTTPRequest]) {
        let bench = WorkBench(answer)
        let login = try login(more, bench)
        let refusal = await #expect(throws: FHIRRefusal.self) {
            try await login.authorize(HTTPRequest(.get, Self.base))
        }
        return (try #require(refusal).outcome(), bench.backend.requests)
    }

    private func token(of request: HTTPRequest) -> String? {
        request.headers.first { $0.name == "Authorization" }?.text
    }

    // MARK: The token

    /// Gives tokens that are numbered, after others had the time to ask too.
    private final class Tokens: HTTPTransport {
        private let count = Mutex(0)

        var given: Int { count.withLock { $0 } }

        func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
            for _ in 0..<200 { await Task.yield() }
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .ok(#"{"access_token":"T\#(number)","token_type":"Bearer","expires_in":300}"#)
        }
    }

    private func login(_ tokens: Tokens, _ bench: WorkBench) throws -> FHIRLogin {
        let context = try bench.context { _ in }
        let other = WorkContext(
            order: context.order, store: context.store, backend: nil, transport: tokens,
            clock: bench.clock, secrets: NoticeSecrets(environment: ["S": "open sesame"]),
            startedAt: .zero, report: { _ in }, isEnding: { false })
        return try FHIRLogin(
            try options(Self.secret.merging(["token_url": Self.tokenURL]) { $1 }), other)
    }

    @Test func `requests at once share one token, and one renewal`() async throws {
        let (tokens, bench) = (Tokens(), WorkBench())
        let login = try login(tokens, bench)
        let request = HTTPRequest(.get, Self.base)

        let first = try await withThrowingTaskGroup(of: HTTPRequest.self) { group in
            for _ in 0..<8 { group.addTask { try await login.authorize(request) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let again = try await withThrowingTaskGroup(of: HTTPRequest?.self) { group in
            for one in first { group.addTask { try await login.renewed(after: one) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }

        #expect(first.map(token) == Array(repeating: "Bearer T1", count: 8))
        #expect(again.map { $0.flatMap(token) } == Array(repeating: "Bearer T2", count: 8))
        #expect(tokens.given == 2)
    }

    @Test func `a token is renewed shortly before it ends`() async throws {
        let (tokens, bench) = (Tokens(), WorkBench())
        let login = try login(tokens, bench)
        let request = HTTPRequest(.get, Self.base)

        _ = try await login.authorize(request)
        bench.clock.advance(by: .seconds(269))
        let before = try await login.authorize(request)
        bench.clock.advance(by: .seconds(2))
        let after = try await login.authorize(request)

        #expect(token(of: before) == "Bearer T1" && token(of: after) == "Bearer T2")
    }

    @Test(arguments: [["secret": "S"], ["login": "none"]])
    func `a login without a client asks nobody and renews nothing`(
        options: [String: String]
    ) async throws {
        let bench = WorkBench()
        let login = try login(options, bench)

        let request = try await login.authorize(HTTPRequest(.get, Self.base))

        #expect(token(of: request) == (options["secret"] == nil ? nil : "Bearer open sesame"))
        #expect(try await login.renewed(after: request) == nil)
        #expect(bench.backend.requests.isEmpty)
    }

    @Test func `a dry run has no secret and asks nobody`() async throws {
        let bench = WorkBench()
        let login = try login(Self.secret, bench, isDryRun: true)

        let request = try await login.authorize(HTTPRequest(.get, Self.base))

        #expect(token(of: request) == nil && bench.backend.requests.isEmpty)
    }

    // MARK: Answers

    private static let faults: [(status: Int, body: String, Failure.Category, says: String)] = [
        (200, "<html>Welcome</html>", .unreachable, "answered with something else than JSON"),
        (200, "{}", .configuration, "gave no token: its answer has no `access_token`"),
        (200, #"{"access_token":""}"#, .configuration, "its answer has no `access_token`"),
        (200, #"{"access_token":7}"#, .configuration, "its answer has no `access_token`"),
        (
            200, #"{"access_token":"a\r\nX-Marker: 1"}"#, .configuration,
            "`access_token` is too long, or has characters that no token has"
        ),
        (
            200, #"{"access_token":"\#(String(repeating: "a", count: 20_000))"}"#, .configuration,
            "`access_token` is too long"
        ),
        (
            200, #"{"access_token":"MARKER","token_type":"mac"}"#, .configuration,
            "`token_type` is `mac`; wanted `Bearer`"
        ),
        (
            200, #"{"access_token":"MARKER","expires_in":-1}"#, .configuration,
            "`expires_in` is no number of seconds from 1 to 31622400"
        ),
        (200, #"{"access_token":"MARKER","expires_in":1e300}"#, .configuration, "`expires_in` is"),
        (
            200, #"{"access_token":"MARKER","expires_in":9223372036854775807}"#, .configuration,
            "`expires_in` is"
        ),
        (200, String(repeating: " ", count: 2 << 20), .configuration, "answers with 2097152 bytes"),
        (302, "", .configuration, "answers 302, which sends elsewhere"),
        (404, "", .configuration, "answers 404: there is nobody who gives tokens"),
        (
            400, #"{"error":"invalid_scope","error_description":"MARKER"}"#, .configuration,
            "answers 400 `invalid_scope`: it gives no token for "
                + "`system/Observation.cus system/Device.cus system/Patient.r`; name another `scope`"
        ),
        (
            401, #"{"error":"invalid_client","error_description":"MARKER"}"#, .credential,
            "answers 401 `invalid_client`: it refuses the client or its secret"
        ),
        (400, #"{"error":"invalid_client"}"#, .credential, "it refuses the client or its secret"),
        (400, #"{"error":"a`b\nMARK"}"#, .configuration, "answers 400 `abMARK`: it gives no token"),
        (429, "", .unreachable, "answers 429"), (500, "MARKER", .unreachable, "answers 500"),
    ]

    @Test(arguments: faults.indices)
    func `an answer without a token is one clear line without a secret`(index: Int) async throws {
        let fault = Self.faults[index]
        let options = Self.secret.merging(["token_url": Self.tokenURL]) { $1 }

        let (outcome, requests) = try await refusal(options) { _ in
            .status(fault.status, fault.body)
        }

        let failure = try #require(outcome.failure)
        #expect(failure.category == fault.2)
        #expect(failure.reason.hasPrefix("`\(Self.tokenURL)` "), "\(failure.reason)")
        #expect(failure.reason.contains(fault.says), "\(failure.reason)")
        #expect(!failure.reason.contains { $0.isNewline })
        for secret in ["MARKER", "sesame"] { #expect(!failure.reason.contains(secret)) }
        #expect(requests.count == 1 && requests.first?.isOnce == true)
    }

    @Test(arguments: ["3599", #""3599""#, "null"])
    func `a life may be a text, or missing`(life: String) async throws {
        let bench = WorkBench { _ in .ok(#"{"access_token":"T","expires_in":\#(life)}"#) }
        let login = try login(Self.secret.merging(["token_url": Self.tokenURL]) { $1 }, bench)

        let request = try await login.authorize(HTTPRequest(.get, Self.base))

        #expect(token(of: request) == "Bearer T")
    }

    // MARK: Where tokens are

    private static let places: [(answer: String, says: String)] = [
        ("{}", "has no `token_endpoint`; name the server's `token_url`"),
        (#"{"token_endpoint":"https://a.example/t#f"}"#, "has no `token_endpoint`"),
        (#"{"token_endpoint":"https://a.example/\n"}"#, "has no `token_endpoint`"),
        (
            #"{"token_endpoint":"http://127.0.0.1/t?key=MARKER"}"#,
            "names `http://127.0.0.1/t`, which is not https"
        ),
        (
            #"{"token_endpoint":"https://a.example/t","token_endpoint_auth_methods_supported":["#
                + #""private_key_jwt"]}"#,
            "takes no `login: client-secret` (client_secret_basic, client_secret_post)"
        ),
    ]

    @Test(arguments: places.indices)
    func `a configuration that names no usable place is one clear line`(
        index: Int
    ) async throws {
        let (answer, says) = Self.places[index]

        let (outcome, requests) = try await refusal(Self.secret) { _ in .ok(answer) }

        let failure = try #require(outcome.failure)
        #expect(failure.category == .configuration)
        let place = "`\(Self.base)/.well-known/smart-configuration` "
        #expect(failure.reason == place + says || failure.reason.hasPrefix(place + says))
        #expect(requests.map(\.method) == [.get])
        #expect(requests.allSatisfy { token(of: $0) == nil })
    }

    /// What the server says of methods, and how the secret then goes to it: by RFC 6749, 2.3.1.
    @Test(arguments: [
        ("", true), (#","token_endpoint_auth_methods_supported":["client_secret_post"]"#, false),
        (
            #","token_endpoint_auth_methods_supported":["client_secret_post","client_secret_basic"]"#,
            true
        ),
    ])
    func `a client's secret goes where the server wants it`(
        methods: String, isBasic: Bool
    ) async throws {
        let bench = WorkBench { request in
            request.method == .get
                ? .ok(#"{"token_endpoint":"\#(Self.tokenURL)"\#(methods)}"#)
                : .ok(#"{"access_token":"T"}"#)
        }
        let login = try login(Self.secret.merging(["client_id": "my:job"]) { $1 }, bench)

        _ = try await login.authorize(HTTPRequest(.get, Self.base))

        let sent = try #require(bench.backend.requests.last)
        #expect(sent.url == Self.tokenURL && sent.method == .post)
        let form =
            "grant_type=client_credentials&scope=system%2FObservation.cus%20system%2FDevice.cus%20system%2FPatient.r"
        if isBasic {
            // `my%3Ajob:open%20sesame`
            #expect(token(of: sent) == "Basic bXklM0Fqb2I6b3BlbiUyMHNlc2FtZQ==")
            #expect(sent.body == Array(form.utf8))
        } else {
            #expect(token(of: sent) == nil)
            let pair = "&client_id=my%3Ajob&client_secret=open%20sesame"
            #expect(sent.body == Array((form + pair).utf8))
        }
        #expect(!"\(sent)".contains("sesame"))
    }

    // MARK: Assertions

    @Test(arguments: SigningKey.Kind.allCases)
    func `an assertion says who asks, whom, and for how long, once`(
        kind: SigningKey.Kind
    ) async throws {
        let folder = try TemporaryFolder()
        let key = try SigningKey(kind)
        try key.write(to: "\(folder.path)/key.pem")
        let bench = WorkBench { _ in .ok(#"{"access_token":"T","expires_in":60}"#) }
        let login = try login(
            [
                "login": "private-key", "client_id": "my-job", "key": "\(folder.path)/key.pem",
                "token_url": Self.tokenURL,
            ], bench)

        _ = try await login.authorize(HTTPRequest(.get, Self.base))
        bench.clock.advance(by: .seconds(60))
        _ = try await login.authorize(HTTPRequest(.get, Self.base))

        var ids: Set<String> = []
        for request in bench.backend.requests {
            let form = String(decoding: request.body ?? [], as: UTF8.self)
            let assertion = try #require(form.split(separator: "client_assertion=").last)
            let parts = try assertion.split(separator: ".").prefix(2).map { part in
                try JSONParser.parse(try #require(TokenSubject.base64URLDecoded(part.utf8)))
            }
            #expect(
                parts[0] == [
                    "alg": .string(kind.rawValue.uppercased()), "kid": .string(try key.id),
                    "typ": "JWT",
                ])
            #expect(parts[1]["iss"] == "my-job" && parts[1]["sub"] == "my-job")
            #expect(parts[1]["aud"]?.text == Self.tokenURL)
            let now = bench.clock.now.secondsSince1970
            let end = try #require(parts[1]["exp"]?.double)
            #expect(end > Double(now) && end <= Double(now + 300))
            ids.insert(try #require(parts[1]["jti"]?.text))
        }
        #expect(ids.count == 2)
    }

    @Test func `a server that does not take the kind of key is not asked for a token`()
        async throws
    {
        let folder = try TemporaryFolder()
        try SigningKey(.es384).write(to: "\(folder.path)/key.pem")
        let configuration =
            #"{"token_endpoint":"https://a.example/t","#
            + #""token_endpoint_auth_signing_alg_values_supported":["RS384"]}"#

        let (outcome, requests) = try await refusal(
            ["login": "private-key", "client_id": "c", "key": "\(folder.path)/key.pem"]
        ) { _ in .ok(configuration) }

        #expect(outcome.failure?.reason.contains("takes no `ES384`; make a key of another") == true)
        #expect(requests.count == 1)
    }

    @Test(
        .enabled(if: HostileServer.isAvailable, "needs python3 and openssl"),
        arguments: [
            ("ecparam -name prime256v1 -genkey -noout", "is a key of another kind"),
            ("genrsa 1024", "is a key of another kind"),
            ("genrsa -aes256 -passout pass:MARKER 2048", "is no private key in PEM without a"),
            ("genpkey -algorithm ED25519", "is a key of another kind"),
            ("rand -hex 32", "is no private key in PEM"), ("genrsa -traditional 2048", nil),
            ("ecparam -name secp384r1 -genkey -noout", nil),
        ])
    func `a key that cannot sign is refused before anybody is asked`(
        command: String, says: String?
    ) async throws {
        let folder = try TemporaryFolder()
        let made = try await ChildProgram.run(
            "/usr/bin/openssl", command.split(separator: " ").map(String.init), environment: [:])
        let path = try folder.write("key.pem", Array(made.output.utf8))
        let bench = WorkBench()
        let options = ["login": "private-key", "client_id": "c", "key": path]

        var failure: Failure?
        do { _ = try login(options, bench) } catch { failure = error as? Failure }

        #expect((failure == nil) == (says == nil), "\(failure?.reason ?? "")")
        if let says {
            #expect(failure?.category == .configuration)
            #expect(failure?.reason.hasPrefix("`\(path)` \(says)") == true)
        }
        #expect(bench.backend.requests.isEmpty)
    }

    @Test func `a key that others may read is refused`() throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/key.pem"
        try SigningKey(.es384).write(to: path)
        #expect(chmod(path, 0o604) == 0)

        let failure = #expect(throws: Failure.self) {
            try login(["login": "private-key", "client_id": "c", "key": path], WorkBench())
        }

        #expect(
            failure?.reason == "the key `\(path)` is open to others (mode 0604); make it 0600")
    }

    @Test func `a key may be a credential of several lines`() async throws {
        let pem = try SigningKey(.es384).pem
        let bench = WorkBench { _ in .ok(#"{"access_token":"T"}"#) }
        var context = try bench.context { _ in }
        context.secrets = NoticeSecrets(environment: ["K": pem.reveal()])

        let login = try FHIRLogin(
            try options([
                "login": "private-key", "client_id": "c", "secret": "K",
                "token_url": Self.tokenURL,
            ]), context)

        #expect(token(of: try await login.authorize(HTTPRequest(.get, Self.base))) == "Bearer T")
    }

    // MARK: Options

    @Test(arguments: [
        (["login": "none", "secret": "S"], "`login: none` has no `secret`"),
        (["login": "bearer"], "`login: bearer` wants a `secret`, the token"),
        (
            ["client_id": "c"],
            "option `client_id` is for `login: client-secret` or `private-key`"
        ),
        (
            ["secret": "S", "token_url": "https://a.example"],
            "option `token_url` is for `login: client-secret` or `private-key`"
        ),
        (
            ["login": "bearer", "secret": "S", "scope": "a"],
            "option `scope` is for `login: client-secret` or `private-key`"
        ),
        (["key": "/k"], "option `key` is for `login: private-key`"),
        (
            ["login": "client-secret", "secret": "S"],
            "`login: client-secret` wants a `client_id`, the job's name at the server"
        ),
        (
            ["login": "client-secret", "client_id": "c"],
            "`login: client-secret` wants a `secret`, the client's"
        ),
        (
            ["login": "client-secret", "client_id": "c", "secret": "S", "key": "/k"],
            "option `key` is for `login: private-key`"
        ),
        (
            ["login": "private-key", "client_id": "c"],
            "`login: private-key` wants one of `key`, a file, and `secret`, a credential"
        ),
        (
            ["login": "private-key", "client_id": "c", "key": "/k", "secret": "S"],
            "`login: private-key` wants one of `key`, a file, and `secret`, a credential"
        ),
        (
            ["login": "client-secret", "client_id": "c", "secret": "S", "scope": "a\"b"],
            "option `scope` has a character that no scope has; wanted words such as "
                + "`system/Observation.cu`"
        ),
    ])
    func `options that do not fit together are one clear line`(
        values: [String: String], says: String
    ) {
        let failure = #expect(throws: Failure.self) { try options(values) }

        #expect(failure?.reason == says)
    }
}

extension Outcome {
    fileprivate var failure: Failure? {
        switch self {
        case .success: nil
        case .retry(_, let failure), .snooze(_, let failure), .awaits(_, let failure),
            .failure(let failure):
            failure
        }
    }
}
