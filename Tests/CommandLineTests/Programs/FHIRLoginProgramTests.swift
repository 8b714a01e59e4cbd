import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// The logins of the kind `fhir-upload` against the stand-in FHIR server, judged by what that server
/// has stored and by its own log of requests.
@Suite("Login at a FHIR server", .timeLimit(.minutes(5)))
struct FHIRLoginProgramTests {
    private static let password = "s:e&c r%=\u{E9}"
    /// All that an upload may need, so that asking for more, or using more, is seen.
    private static let scope = ["--fhir-scope", "system/Observation.cus system/Patient.r"]

    /// - Parameter login: options of the job, each a line.
    private func playground(
        _ sandboxOptions: [String], login: [String]
    ) async throws -> Playground {
        try await FHIRScene(
            "google",
            // It makes a version of each `PUT`, also of one that changes nothing.
            options: ["--fhir-with", "update-create", "--fhir-with", "no-references"]
                + sandboxOptions, job: login
        ).playground
    }

    private func secretPlayground(_ more: [String] = [], scope: [String] = Self.scope)
        async throws -> Playground
    {
        try await playground(
            ["--fhir-login", "secret:my job:\(Self.password)"] + scope,
            login: ["login: client-secret", "client_id: my job", "secret: FHIR_SECRET"] + more)
    }

    private func upload(
        _ playground: Playground, secret: String = Self.password
    ) async throws -> ProgramResult {
        try await playground.run(
            "run", "clinic", "--force", environment: ["FHIR_SECRET": secret])
    }

    private func ask(_ playground: Playground, _ path: String) async throws -> JSONValue {
        let port = try #require(playground.sandbox).port
        return try JSONValue(
            try await LoopbackRequest.send("GET", "/_sandbox/fhir/\(path)?limit=1000", port: port))
    }

    /// Checks that the server has each record, and no second version of one.
    private func checkStored(
        _ playground: Playground, _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let versions = try await ask(playground, "resources")["resources"].elements
            .filter { $0["type"].text == "Observation" }.map { $0["versions"].number }
        #expect(
            versions == Array(repeating: 1, count: FHIRScene.records), sourceLocation: location)
    }

    /// The requests, each as its method, its path below the base, and the status.
    private func requests(_ playground: Playground) async throws -> [String] {
        try await ask(playground, "requests")["requests"].elements.map { request in
            let path =
                request["url"].text?.split(separator: "?").first?
                .dropFirst("/fhir".count) ?? ""
            return "\(request["method"].text ?? "") \(path) \(request["answer"].text ?? "")"
        }
    }

    private static let loggedIn = ["GET /.well-known/smart-configuration 200", "POST /token 200"]

    @Test(arguments: ["es384", "rs384"])
    func `a job logs in by a key that keygen made`(kind: String) async throws {
        let keys = try TemporaryFolder()
        let playground = try await playground(
            ["--fhir-login", "jwt:my-job:\(keys.path)/jwks.json"] + Self.scope,
            login: ["login: private-key", "client_id: my-job", "key: \(keys.path)/key.pem"])
        let made = try await playground.run(
            "fhir", "keygen", "--kind", kind, "--out", "\(keys.path)/key.pem")
        try keys.write("jwks.json", Array(made.output.utf8))

        let result = try await upload(playground)

        #expect(made.status == 0 && made.errors.isEmpty, "\(made.errors)")
        #expect(result.status == 0, "\(result.errors)")
        try await checkStored(playground)
        #expect(
            try await requests(playground)
                == Self.loggedIn + ["GET /metadata 200"]
                // The first is of a Device, which this scope does not allow.
                + Array(repeating: "POST  200", count: 4))
    }

    @Test func `a job logs in by its secret, which is seen nowhere`() async throws {
        let playground = try await secretPlayground()

        let wrong = try await upload(playground, secret: "WRONG-MARKER")
        let right = try await upload(playground)

        #expect(wrong.status == 77, "\(wrong.status)")
        #expect(
            wrong.errors.contains("answers 401 `invalid_client`: it refuses the client or its"),
            "\(wrong.errors)")
        #expect(right.status == 0, "\(right.errors)")
        try await checkStored(playground)
        let sent = try await requests(playground)
        #expect(sent.count { $0.hasPrefix("POST /token") } == 2)
        let (runs, log) = (
            try await playground.run("history", "-o", "json"),
            try await playground.run("audit", "log", "-o", "json")
        )
        for text in [wrong.errors, right.output, right.errors, runs.output, log.output] {
            #expect(
                !text.contains("WRONG-MARKER") && !text.contains("s:e") && !text.contains("s%3A"))
        }
    }

    @Test(arguments: ["POST /: pass, expire", "PUT /Observation/*: pass x14, expire"])
    func `a token that ends on the way is renewed, and nothing is sent twice`(
        fault: String
    ) async throws {
        let playground = try await secretPlayground()
        try await #require(playground.sandbox).addFault(fault)

        let result = try await upload(playground)

        #expect(result.status == 0, "\(result.errors)")
        try await checkStored(playground)
        let sent = try await requests(playground)
        #expect(sent.count { $0.hasPrefix("POST /token") } == 2)
        // A Device, three bundles, and those again that were on their way with the former token.
        #expect((5...7).contains(sent.count { $0.hasPrefix("POST  ") }), "\(sent)")
    }

    @Test(arguments: ["POST /: pass, 401 x*", "PUT /Observation/*: pass x14, 401 x*"])
    func `a server that refuses the renewed token too ends the attempt`(
        fault: String
    ) async throws {
        let playground = try await secretPlayground()
        try await #require(playground.sandbox).addFault(fault)

        let refused = try await upload(playground)
        let sent = try await requests(playground)
        _ = try await #require(playground.sandbox).clearFaults()
        let again = try await upload(playground)

        #expect(refused.status == 77, "\(refused.status)")
        #expect(
            refused.errors.contains("it refuses the token that the job has just got"),
            "\(refused.errors)")
        #expect(sent.count { $0.hasPrefix("POST /token") } == 2)
        #expect(sent.count { $0.hasPrefix("POST  ") } <= 7, "\(sent)")
        #expect(again.status == 0, "\(again.errors)")
        try await checkStored(playground)
    }

    @Test func `a token that may not write is said, and no other is asked for`() async throws {
        let playground = try await secretPlayground(
            scope: ["--fhir-scope", "system/Observation.s"])

        let result = try await upload(playground)

        #expect(result.status == 77, "\(result.status)")
        #expect(result.errors.contains("the token may not write"), "\(result.errors)")
        #expect(try await requests(playground).count { $0.hasPrefix("POST /token") } == 1)
    }

    @Test func `a dry run asks nobody, and needs no secret`() async throws {
        let playground = try await secretPlayground()

        let result = try await playground.run("dry-run", "clinic")

        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output.contains("would send 30 Observations"), "\(result.output)")
        #expect(try await requests(playground) == [])
    }

    @Test func `a place that is named is the only one asked, and not followed elsewhere`()
        async throws
    {
        let token = ScriptedAnswer.answer(200, #"{"access_token":"TOKEN-MARKER"}"#, then: .close)
        let place = try ScriptedServer([
            .answer(302, "", headers: ["Location: http://127.0.0.1:9/"], then: .close), token,
            token,
        ])
        let playground = try await secretPlayground(["token_url: \(place.url)/token"])

        let moved = try await upload(playground)
        let refused = try await upload(playground)

        #expect(moved.status == 78, "\(moved.status)")
        #expect(
            moved.errors.contains("`\(place.url)/token` answers 302, which sends elsewhere"),
            "\(moved.errors)")
        // The server has not given this token.
        #expect(refused.status == 77, "\(refused.status) \(refused.errors)")
        #expect(!refused.errors.contains("TOKEN-MARKER"))
        #expect(place.requests.map(\.target) == ["/token", "/token", "/token"])
        #expect(
            try await requests(playground) == ["GET /metadata 200", "POST  401", "POST  401"])
    }

    @Test(
        .enabled(if: HostileServer.isAvailable, "needs python3 and openssl"),
        arguments: [true, false])
    func `a login goes to a server with a pinned key alone`(isPinned: Bool) async throws {
        let authority = try await TestAuthority()
        let identity = try await authority.identity("server")
        let server = try await HostileServer(identity)
        let pins = [
            try await authority.identity("other").pin,
            isPinned ? identity.pin : try await authority.identity("third").pin,
        ]
        let playground = try await secretPlayground([
            "ca_bundle: \(authority.certificate)",
            "pins: [\"\(pins.joined(separator: "\", \""))\"]",
            "token_url: \(server.url)/ok",
        ])

        let result = try await upload(playground)

        let requests = await server.finish().filter { $0.hasPrefix("request") }
        #expect(requests.count == (isPinned ? 1 : 0), "\(requests)")
        #expect(result.status == 78, "\(result.status)")
        let says =
            isPinned
            ? "its answer has no `access_token`" : "has no certificate or TLS that is trusted"
        #expect(result.errors.contains("`\(server.url)/ok` "), "\(result.errors)")
        #expect(result.errors.contains(says), "\(result.errors)")
    }

    @Test func `one pin alone is refused before anybody is asked`() async throws {
        let pin = "sha256//" + String(repeating: "A", count: 43) + "="
        let playground = try await secretPlayground(["pins: [\"\(pin)\"]"])

        let result = try await upload(playground)

        #expect(result.status == 78, "\(result.status)")
        #expect(
            result.errors.contains("`pins` wants at least two different pins"), "\(result.errors)")
        #expect(!result.errors.contains("backend"))
        #expect(try await requests(playground) == [])
    }

    @Test func `keygen writes a new file for its owner alone`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let path = "\(playground.folder.path)/key.pem"
        let link = "\(playground.folder.path)/link.pem"
        #expect(symlink("\(playground.folder.path)/target.pem", link) == 0)

        let made = try await playground.run("fhir", "keygen", "--out", path)
        let written = try TemporaryFolder.read(path)
        let again = try await playground.run("fhir", "keygen", "--out", path)
        let linked = try await playground.run("fhir", "keygen", "--out", link)
        let unnamed = try await playground.run("fhir", "keygen")
        let shown = try await playground.run("fhir", "jwks", "--key", path)
        #expect(chmod(path, 0o644) == 0)
        let open = try await playground.run("fhir", "jwks", "--key", path)
        #expect(chmod(path, 0o600) == 0)

        #expect(made.status == 0, "\(made.errors)")
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o7777 == 0o600)
        #expect(written.starts(with: Array("-----BEGIN PRIVATE KEY-----\n".utf8)))
        let key = try #require(try JSONValue(made.output)["keys"].elements.first)
        #expect(key.keys == ["alg", "crv", "kid", "kty", "use", "x", "y"])
        #expect(key["alg"].text == "ES384" && key["crv"].text == "P-384")
        for (result, place) in [(again, path), (linked, link)] {
            #expect(
                result.isRefusal(
                    78, "clarity-jobs: there is something at `\(place)` already; name a new file"))
        }
        #expect(shown.status == 0 && shown.output == made.output, "\(shown.errors)")
        #expect(
            open.isRefusal(
                78, "clarity-jobs: the key `\(path)` is open to others (mode 0644); make it 0600"))
        #expect(
            unnamed.isRefusal(64, "clarity-jobs: `fhir keygen` wants --out FILE, a new file"))
        #expect(try TemporaryFolder.read(path) == written)
        #expect(access("\(playground.folder.path)/target.pem", F_OK) == -1)
    }

    /// The thumbprint and the numbers, as Python and OpenSSL compute them (RFC 7638).
    private static let check = """
        import base64, hashlib, json, subprocess, sys
        key = json.load(open(sys.argv[1]))["keys"][0]
        names = ("e", "kty", "n") if key["kty"] == "RSA" else ("crv", "kty", "x", "y")
        text = json.dumps({name: key[name] for name in names}, separators=(",", ":"), sort_keys=True)
        digest = hashlib.sha256(text.encode()).digest()
        assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == key["kid"]
        public = subprocess.run(["openssl", "pkey", "-in", sys.argv[2], "-pubout", "-outform", "DER"],
                                check=True, capture_output=True).stdout
        for name in names:
            if name not in ("crv", "kty"):
                assert base64.urlsafe_b64decode(key[name] + "=" * (-len(key[name]) % 4)) in public
        print("fits")
        """

    @Test(
        .enabled(if: HostileServer.isAvailable, "needs python3 and openssl"),
        arguments: ["es384", "rs384"])
    func `the JWK set has the public half of the key, under its thumbprint`(
        kind: String
    ) async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let folder = playground.folder.path
        let made = try await playground.run(
            "fhir", "keygen", "--kind", kind, "--out", "\(folder)/key.pem")
        try playground.folder.write("jwks.json", Array(made.output.utf8))

        let checked = try await ChildProgram.run(
            "/usr/bin/env",
            ["python3", "-c", Self.check, "\(folder)/jwks.json", "\(folder)/key.pem"],
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"])

        #expect(checked.output == "fits\n", "\(checked.errors)")
    }
}
