import ClarityTestSupport
@testable import ProgramTestSupport
import Testing
import WebAPI

@testable import clarity_jobs_web

/// Requests that the pages' server refuses, whoever is logged in.
@Suite("What the pages refuse", .timeLimit(.minutes(3)))
struct PagesGuardTests {
    private func pages(_ options: String...) async throws -> (PagesProgram, Playground, String) {
        let playground = try await Playground(sandboxOptions: nil)
        let pages = try await PagesProgram(playground, options)
        return (pages, playground, try await pages.enter())
    }

    @Test func `only the names of this machine are answered`() async throws {
        let (pages, _, cookie) = try await pages()
        let hosts = [
            ("127.0.0.1:\(pages.port)", 200), ("localhost:\(pages.port)", 200),
            ("LOCALHOST:\(pages.port)", 200), ("[::1]:\(pages.port)", 200),
            ("127.0.0.1", 403), ("127.0.0.1:1", 403), ("evil.example:\(pages.port)", 403),
            ("127.0.0.1.evil.example:\(pages.port)", 403), ("127.1:\(pages.port)", 403),
            ("192.0.2.1:\(pages.port)", 403), ("", 403),
        ]

        for (host, status) in hosts {
            for path in ["/today", "/assets/index.html", "/api/v1/jobs", "/enter"] {
                let answer = try await pages.send("GET", path, cookie: cookie, host: host)

                #expect(answer.status == status, "\(host) \(path)")
                if status == 403 {
                    #expect(try answer.error == "this is not an address of these pages")
                }
            }
        }
    }

    @Test func `an action from another site is refused, and changes nothing`() async throws {
        let (pages, playground, cookie) = try await pages()
        let own = "http://127.0.0.1:\(pages.port)"
        let body = #"{"job":"upload"}"#

        for headers in [
            ["Origin": "http://evil.example"], ["Origin": "null"],
            ["Origin": "https://127.0.0.1:\(pages.port)"], ["Origin": "http://127.0.0.1:1"],
            ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"],
            ["Origin": own, "Sec-Fetch-Site": "none"],
        ] {
            let answer = try await pages.act("pause", body, cookie: cookie, headers: headers)

            #expect(answer.status == 403, "\(headers)")
            #expect(try answer.error == "another site made this request")
        }
        for token in ["", String(repeating: "0", count: 64)] {
            let answer = try await pages.act(
                "pause", body, cookie: cookie, headers: ["X-CSRF-Token": token])

            #expect(answer.status == 403)
            #expect(try answer.error == "the header X-CSRF-Token is wrong or missing")
        }
        #expect(try await playground.json("explain", "upload")["paused"] == .null)

        let answer = try await pages.act(
            "pause", body, cookie: cookie,
            headers: ["Origin": own, "Sec-Fetch-Site": "same-origin"])

        #expect(answer.status == 200, "\(answer.text)")
        #expect(try await playground.json("explain", "upload")["paused"] != .null)
    }

    @Test func `a token of another session is refused`() async throws {
        let (pages, _, cookie) = try await pages()
        let other = try await pages.enter()
        let token = try await pages.send("GET", "/api/v1/session", cookie: other).json["csrf"].text

        let answer = try await pages.act(
            "pause", #"{"job":"upload"}"#, cookie: cookie,
            headers: ["X-CSRF-Token": try #require(token)])

        #expect(answer.status == 403)
    }

    @Test func `pages that only show refuse every action`() async throws {
        let (pages, playground, cookie) = try await pages("--read-only")

        for (name, body) in [
            ("pause", #"{"job":"upload"}"#), ("resume", #"{"job":"upload"}"#),
            ("run", #"{"job":"upload"}"#), ("cancel", #"{"run":1}"#), ("retry", #"{"run":1}"#),
            ("outbox-retry", #"{"state":"rejected"}"#),
            ("outbox-discard", #"{"state":"rejected"}"#),
            ("sample-retry", #"{"id":1}"#), ("sample-discard", #"{"id":1}"#),
        ] {
            let answer = try await pages.act(name, body, cookie: cookie)

            #expect(answer.status == 403, "\(name)")
            #expect(try answer.error == "these pages only show")
        }
        #expect(try await playground.json("explain", "upload")["paused"] == .null)
    }

    @Test(arguments: [
        ("POST", "/today", 405, "GET, HEAD"), ("DELETE", "/api/v1/jobs", 405, "GET, HEAD"),
        ("POST", "/api/v1/jobs", 405, "GET, HEAD"), ("PUT", "/assets/index.html", 405, "GET, HEAD"),
        ("OPTIONS", "/api/v1/jobs", 405, "GET, HEAD"), ("TRACE", "/", 405, "GET, HEAD"),
        ("GET", "/api/v1/actions/pause", 405, "POST"), ("PUT", "/enter", 405, "GET, HEAD, POST"),
    ])
    func `other methods are refused with those that are allowed`(
        method: String, path: String, status: Int, allowed: String
    ) async throws {
        let (pages, _, cookie) = try await pages()

        let answer = try await pages.send(method, path, cookie: cookie)

        #expect(answer.status == status && answer.headers["allow"] == allowed)
    }

    @Test func `every path of the API refuses other methods`() async throws {
        let (pages, _, cookie) = try await pages()
        let read = APIRoute.all.map(\.path) + ["events"]

        for (path, methods, allowed) in read.map({ ($0, ["POST", "PUT", "DELETE"], "GET, HEAD") })
            + APIAction.all.map({ ("actions/\($0.name)", ["GET", "PUT", "DELETE"], "POST") })
            + [("session", ["POST", "PUT"], "GET, HEAD, DELETE")]
        {
            // The method is looked at first, so the variable may be anything.
            let path = "/api/v1/\(path.replacing(/\{[a-z]+\}/, with: "1"))"
            for method in methods {
                let answer = try await pages.send(method, path, cookie: cookie)

                #expect(answer.status == 405, "\(method) \(path)")
                #expect(answer.headers["allow"] == allowed, "\(method) \(path)")
            }
        }
    }

    @Test func `the body of an action is a small JSON object`() async throws {
        let (pages, _, cookie) = try await pages()
        let long = #"{"job":"upload","reason":""# + String(repeating: "x", count: 64 << 10) + "\"}"

        for (body, type, status, error) in [
            ("job=upload", "application/x-www-form-urlencoded", 415, nil),
            (#"{"job":"upload"}"#, "text/plain", 415, "an action is sent as application/json"),
            (long, "application/json", 413, "a request has at most 65536 bytes"),
            ("{", "application/json", 400, nil), ("", "application/json", 400, nil),
            ("[]", "application/json", 400, "the body is no JSON object"),
            (
                #"{"job":["upload"]}"#, "application/json", 400,
                "a field is neither a text nor a whole number"
            ),
            (
                #"{"job":"upload","for":null}"#, "application/json", 400,
                "a field is neither a text nor a whole number"
            ),
            ("{}", "application/json", 400, "`job` is missing"),
            (#"{"job":"--all"}"#, "application/json", 400, "`job` is the id of a job"),
            (
                #"{"job":"upload","for":"-1d"}"#, "application/json", 400,
                "`for` is a span such as 90m or 7d"
            ),
            (
                #"{"job":"upload","reason":"a\r\nb"}"#, "application/json", 400,
                "`reason` is a note of at most 200 characters in one line"
            ),
            (#"{"job":"upload","all":"1"}"#, "application/json", 400, nil),
        ] as [(String, String, Int, String?)] {
            let answer = try await pages.act(
                "pause", body, cookie: cookie, headers: ["Content-Type": type])

            #expect(answer.status == status, "\(body.prefix(40)): \(answer.text)")
            if let error { #expect(try answer.error == error) }
        }
        let unknown = try await pages.act("erase", "{}", cookie: cookie)
        #expect(unknown.status == 404)
    }

    @Test func `every answer forbids scripts, frames and caches from elsewhere`() async throws {
        let (pages, _, cookie) = try await pages()

        for path in [
            "/today", "/enter", "/enter?token=0", "/assets/chart.js", "/assets/none", "/none",
            "/api/v1/jobs", "/api/v1/none", "/api/v1/runs/7",
        ] {
            let answer = try await pages.send("GET", path, cookie: cookie)

            #expect(
                answer.headers["content-security-policy"]
                    == "default-src 'none'; script-src 'self'; style-src 'self'; "
                    + "img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
                    + "form-action 'self'; frame-ancestors 'none'; "
                    + "require-trusted-types-for 'script'", "\(path)")
            #expect(answer.headers["x-content-type-options"] == "nosniff")
            #expect(answer.headers["referrer-policy"] == "no-referrer")
            #expect(answer.headers["cross-origin-opener-policy"] == "same-origin")
            #expect(answer.headers["cross-origin-resource-policy"] == "same-origin")
            let cache = path == "/assets/chart.js" ? "no-cache" : "no-store"
            #expect(answer.headers["cache-control"] == cache, "\(path)")
        }
    }

    @Test func `behind a proxy, its name is answered and asks for a password`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let words = ["serve", "--listen", "127.0.0.1:0", "--behind", "https://health.example"]

        let open = try await playground.start(words).finish()
        let set = try await playground.run(
            "serve", "password", "--password-stdin", input: "correct horse battery\n")
        #expect(set.status == 0, "\(set.errors)")
        let pages = try await PagesProgram(playground, Array(words.dropFirst(3)))
        let link = try await playground.run("serve", "link")
        let first = try #require(link.outputLines.first)
        #expect(first.hasPrefix("https://health.example/enter?token="))
        let entered = try await pages.send(
            "GET", String(first.dropFirst("https://health.example".count)), host: "health.example")

        #expect(open.status == 78)
        #expect(
            open.errorLines == [
                "clarity-jobs: other machines can reach these pages, so they need a password",
                "clarity-jobs: help: clarity-jobs serve password",
            ])
        #expect(
            entered.status == 303 && entered.headers["set-cookie"]?.hasSuffix("; Secure") == true)
        let cookie = try #require(entered.cookie)
        for (host, status) in [
            ("health.example", 200), ("HEALTH.example", 200), ("127.0.0.1:\(pages.port)", 200),
            ("health.example:1", 403), ("evil.example", 403),
        ] {
            #expect(
                try await pages.send("GET", "/today", cookie: cookie, host: host).status == status)
        }
    }

    @Test(.enabled(if: ReceiveProgramTests.hasCurl, "needs curl"))
    func `with a certificate, the pages speak TLS only and the cookie is secure`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let authority = try await TestAuthority()
        let identity = try await authority.identity("server")
        let pages = try await PagesProgram(
            playground, ["--certificate", identity.certificate, "--private-key", identity.key])
        let link = try await pages.link()
        func get(_ scheme: String) async throws -> ProgramResult {
            try await ChildProgram.run(
                "/usr/bin/curl",
                [
                    "-sSi", "--cacert", authority.certificate,
                    "\(scheme)://127.0.0.1:\(pages.port)\(link)",
                ])
        }

        let plain = try await get("http")
        let good = try await get("https")

        #expect(plain.status != 0 && !plain.output.contains("303"))
        #expect(good.output.hasPrefix("HTTP/1.1 303"), "\(good.errors)")
        #expect(good.output.contains("; Secure\r\n"))
    }

    @Test(arguments: [
        ([], 64, "others can read what is sent to `0.0.0.0:0`"),
        (["--behind", "http://health.example"], 64, "`--behind` is an address such as"),
        (["--behind", "https://health.example/x"], 64, "`--behind` is an address such as"),
        (["--behind", "https://health.example"], 78, "other machines can reach these pages"),
        (["--certificate", "cert.pem"], 64, "`serve` wants both --certificate and --private-key"),
    ])
    func `other machines need TLS and a password`(
        options: [String], status: Int32, error: String
    ) async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let end = try await playground.start(
            ["serve", "--listen", "0.0.0.0:0"] + options
        ).finish()

        #expect(end.status == status)
        #expect(end.errors.hasPrefix("clarity-jobs: \(error)"), "\(end.errors)")
    }
}
