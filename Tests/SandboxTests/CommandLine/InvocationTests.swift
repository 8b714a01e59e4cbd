import HTTPServing
import Platform
import Testing

@testable import clarity_jobs_sandbox

@Suite struct InvocationTests {
    private func options(_ arguments: String...) throws -> ServeOptions {
        guard case .serve(let options) = try Invocation(arguments) else {
            throw Bench.Unexpected()
        }
        return options
    }

    @Test func `what is not given is as usual`() throws {
        let options = try options("--data", "d")

        #expect(options.directory == "d")
        #expect(options.address == ListenAddress(host: 0x7F00_0001, port: 8787))
        #expect(options.settings.dialect.name == "blueprint")
        #expect(options.settings.tokenLife == .seconds(3600))
        #expect(options.settings.processingSteps == 3)
        #expect(options.faults.rules.isEmpty)
        #expect(!options.exitsWithInput)
    }

    @Test func `every option is taken, with a space or an equals sign`() throws {
        let options = try options(
            "--listen=127.0.0.2:0", "--data=d=e", "--dialect", "blueprint", "--fault",
            "GET /a: 503", "--fault=GET /b: latency=1s", "--token-life", "90s",
            "--processing-steps", "7", "--clock=2026-03-02T00:00:00Z", "--exit-with-stdin")

        #expect(options.directory == "d=e")
        #expect(options.address == ListenAddress(host: 0x7F00_0002, port: 0))
        #expect(options.settings.tokenLife == .seconds(90))
        #expect(options.settings.processingSteps == 7)
        #expect(options.settings.clockStart?.description == "2026-03-02T00:00:00Z")
        #expect(options.faults.rules.map(\.segments) == [["a"], ["b"]])
        #expect(options.exitsWithInput)
    }

    @Test func `a FHIR server is described in any order of the options`() throws {
        let options = try options(
            "--fhir-login", "secret:me:a:b", "--fhir-with=rate=3,search-lag=1s,references",
            "--fhir", "azure", "--fhir-scope", "system/*.rs", "--data", "d")

        let fhir = try #require(options.settings.fhir)
        #expect(fhir.manner.name == "azure")
        #expect(fhir.manner.checksReferences)
        #expect(fhir.login == .secret(id: "me", secret: "a:b"))
        #expect(fhir.rate == 3)
        #expect(fhir.searchLag == .seconds(1))
        #expect(fhir.scope == "system/*.rs")
    }

    private static let quirks: [String: Set<Quirk>] = [
        "measured": Set(Quirk.allCases), "limits,lockout": [.limits, .lockout],
        "repaired": Set(Quirk.allCases).subtracting([.limiterCrash]),
        "repaired,limiter-crash": Set(Quirk.allCases),
    ]

    @Test(arguments: quirks.keys.sorted())
    func `quirks are taken whichever side of the dialect they stand`(_ list: String) throws {
        let quirks = try #require(Self.quirks[list])
        let before = try options("--quirks", list, "--dialect", "loop", "--data", "d")
        let after = try options("--data", "d", "--dialect=loop", "--quirks=\(list)")

        #expect(before.settings.dialect.quirks == quirks)
        #expect(after.settings.dialect.quirks == quirks)
        #expect(try options("--data", "d", "--dialect", "loop").settings.dialect.quirks.isEmpty)
    }

    @Test func `a quirk that is unknown is named with those that are`() throws {
        let names = Quirk.allCases.map(\.rawValue).joined(separator: ", ")

        #expect(throws: UsageError("quirk `x` is unknown; there are measured, repaired, \(names)"))
        {
            try Invocation(["--dialect", "loop", "--quirks", "limits,x", "--data", "d"])
        }
    }

    @Test func `the help names every quirk on lines of at most 100 characters`() {
        for quirk in Quirk.allCases { #expect(helpText.contains(quirk.rawValue)) }
        for line in helpText.split(separator: "\n") { #expect(line.count <= 100) }
    }

    @Test func `localhost is the loopback by its name`() {
        #expect(ListenAddress("localhost:80") == ListenAddress(host: 0x7F00_0001, port: 80))
    }

    @Test func `help goes before everything that follows it`() throws {
        guard case .help = try Invocation(["--data", "d", "-h", "--wrong"]) else {
            throw Bench.Unexpected()
        }
    }

    @Test(arguments: [
        ([], "`--data DIR` is missing"),
        (["--data="], "`--data DIR` is missing"),
        (["--data"], "`--data` needs a value: a directory"),
        (["--data", "--listen"], "`--data` needs a value: a directory"),
        (["--what"], "unknown argument `--what`; see `--help`"),
        (["what"], "unknown argument `what`; see `--help`"),
        (
            ["--listen", "0.0.0.0:80"],
            "`--listen 0.0.0.0:80` is no loopback address; write `127.0.0.1:PORT`"
        ),
        (
            ["--listen", "127.0.0.1:70000"],
            "`--listen 127.0.0.1:70000` is no loopback address; write `127.0.0.1:PORT`"
        ),
        (
            ["--listen", "192.168.1.1:80"],
            "`--listen 192.168.1.1:80` is no loopback address; write `127.0.0.1:PORT`"
        ),
        (["--dialect", "v2"], "dialect `v2` is not served; there is `blueprint`, `loop`"),
        (["--data", "d", "--quirks", "measured"], "dialect `blueprint` has no quirks; `loop` has"),
        (
            ["--token-life", "0s"],
            "`--token-life 0s` is no span of a second or more; write `90s`, `15m` or `1h`"
        ),
        (["--processing-steps", "0"], "`--processing-steps 0` is no count of 1 to 1000"),
        (["--fault", "x"], "fault `x`: `:` missing; write `METHOD PATH: ACTION xCOUNT, ...`"),
        (
            ["--fhir", "epic"],
            "manner `epic` is not served; there is `hapi`, `medplum`, `azure`, `google`"
        ),
        (
            ["--data", "d", "--fhir", "hapi", "--fhir-with", "rate=0"],
            "switch `rate=0` is unknown; there are update-create, no-update-create, references, "
                + "no-references, bundle-bytes=N, rate=N and search-lag=SPAN"
        ),
        (
            ["--data", "d", "--fhir-scope", "system/*.rs"],
            "`--fhir-with`, `--fhir-scope` and `--fhir-login` need `--fhir MANNER`"
        ),
        (
            ["--fhir-login", "secret:me"],
            "`--fhir-login secret:me` is none of none, token:TEXT, secret:ID:SECRET and jwt:ID:FILE"
        ),
        (["--exit-with-stdin=1"], "`--exit-with-stdin` takes no value"),
    ])
    func `a faulty command line is explained`(_ arguments: [String], _ message: String) {
        #expect(throws: UsageError(message)) { try Invocation(arguments) }
    }
}
