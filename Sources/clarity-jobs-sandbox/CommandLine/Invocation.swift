import HTTPServing

/// A parsed command line.
enum Invocation: Sendable {
    case help
    case serve(ServeOptions)

    /// Parses the arguments after the program's name.
    init(_ arguments: [String]) throws(UsageError) {
        var options = ServeOptions()
        var directory: String?
        var quirks: Set<Quirk>?
        var fhir: FHIROptions?
        var (switches, scope, login) = ([String](), String?.none, FHIRLogin.Method?.none)
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            let parts = argument.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false
            ).map(String.init)
            let name = argument.hasPrefix("--") && parts.count == 2 ? parts[0] : argument
            let attached = name == argument ? nil : parts[1]
            func value(_ wanted: String) throws(UsageError) -> String {
                if let attached { return attached }
                guard let next = rest.popFirst(), !next.hasPrefix("--") else {
                    throw UsageError("`\(name)` needs a value: \(wanted)")
                }
                return next
            }
            switch name {
            case "--help", "-h":
                self = .help
                return
            case "--listen":
                let text = try value("127.0.0.1:PORT")
                guard let address = ListenAddress(text), address.isLoopback else {
                    throw UsageError(
                        "`--listen \(text)` is no loopback address; write `127.0.0.1:PORT`")
                }
                options.address = address
            case "--data": directory = try value("a directory")
            case "--dialect":
                let text = try value("a dialect")
                guard let dialect = Dialect.all.first(where: { $0.name == text }) else {
                    let names = Dialect.all.map { "`\($0.name)`" }.joined(separator: ", ")
                    throw UsageError("dialect `\(text)` is not served; there is \(names)")
                }
                options.settings.dialect = dialect
            case "--quirks": quirks = try Quirk.named(try value("`measured` or names"))
            case "--fault":
                options.faults.add(try FaultRule(try value("METHOD PATH: ACTION")))
            case "--token-life":
                let text = try value("a span such as 1h")
                guard let span = Duration(span: text), span >= .seconds(1) else {
                    throw UsageError(
                        "`--token-life \(text)` is no span of a second or more; write `90s`, "
                            + "`15m` or `1h`")
                }
                options.settings.tokenLife = span
            case "--clock":
                let text = try value("an instant")
                guard let start = Timestamp(iso8601: text) else {
                    throw UsageError(
                        "`--clock \(text)` is no instant; write `2026-03-02T00:00:00Z`")
                }
                options.settings.clockStart = start
            case "--processing-steps":
                let text = try value("a count")
                guard let steps = Int(text), (1...1000).contains(steps) else {
                    throw UsageError("`--processing-steps \(text)` is no count of 1 to 1000")
                }
                options.settings.processingSteps = steps
            case "--fhir":
                let text = try value("a manner")
                guard let manner = FHIRManner.all.first(where: { $0.name == text }) else {
                    let names = FHIRManner.all.map { "`\($0.name)`" }.joined(separator: ", ")
                    throw UsageError("manner `\(text)` is not served; there is \(names)")
                }
                fhir = FHIROptions(manner: manner)
            case "--fhir-with":
                switches += try value("switches").split(separator: ",").map(String.init)
            case "--fhir-scope": scope = try value("scopes")
            case "--fhir-login":
                let text = try value("none, token:TEXT, secret:ID:SECRET or jwt:ID:FILE")
                guard let method = FHIRLogin.Method(text) else {
                    throw UsageError(
                        "`--fhir-login \(text)` is none of none, token:TEXT, secret:ID:SECRET "
                            + "and jwt:ID:FILE")
                }
                login = method
            case "--exit-with-stdin":
                guard attached == nil else {
                    throw UsageError("`--exit-with-stdin` takes no value")
                }
                options.exitsWithInput = true
            default: throw UsageError("unknown argument `\(argument)`; see `--help`")
            }
        }
        guard let directory, !directory.isEmpty else {
            throw UsageError("`--data DIR` is missing")
        }
        options.directory = directory
        if let quirks {
            let name = options.settings.dialect.name
            guard name == Dialect.loop.name else {
                throw UsageError("dialect `\(name)` has no quirks; `loop` has")
            }
            options.settings.dialect.quirks = quirks
        }
        if fhir == nil, !switches.isEmpty || scope != nil || login != nil {
            throw UsageError(
                "`--fhir-with`, `--fhir-scope` and `--fhir-login` need `--fhir MANNER`")
        }
        for word in switches { try fhir?.take(word) }
        if let scope { fhir?.scope = scope }
        if let login { fhir?.login = login }
        options.settings.fhir = fhir
        self = .serve(options)
    }
}

/// The options of a server.
struct ServeOptions: Sendable {
    var address = ListenAddress(host: 0x7F00_0001, port: 8787)
    var directory = ""
    var settings = Service.Settings()
    var faults = FaultPlan()
    /// Whether the server ends when standard input ends.
    var exitsWithInput = false
}

extension Quirk {
    /// Parses names separated by commas.
    ///
    /// `measured` means all quirks of the deployed backend, `repaired` all except the limiter's
    /// crash.
    fileprivate static func named(_ text: String) throws(UsageError) -> Set<Quirk> {
        var quirks: Set<Quirk> = []
        for name in text.split(separator: ",", omittingEmptySubsequences: false) {
            if name == "measured" {
                quirks.formUnion(Quirk.measured)
            } else if name == "repaired" {
                quirks.formUnion(Quirk.repaired)
            } else if let quirk = Quirk(rawValue: String(name)) {
                quirks.insert(quirk)
            } else {
                let names = allCases.map(\.rawValue).joined(separator: ", ")
                throw UsageError(
                    "quirk `\(name)` is unknown; there are measured, repaired, \(names)")
            }
        }
        return quirks
    }
}

/// The output of `--help`.
let helpText = """
    clarity-jobs-sandbox --data DIR [options]

    A CLARITY-compatible server on this machine alone, for demos and tests. It keeps
    everything in DIR/sandbox.db and has a user demo@example.com / Demo-Passw0rd!
    with 23 insights and 12 metrics from before, which no summary counts.

    examples:
      clarity-jobs-sandbox --data /tmp/clarity
      clarity-jobs-sandbox --data d --listen 127.0.0.1:0 --exit-with-stdin
      clarity-jobs-sandbox --data d --fault 'POST /health-data/upload: 503 retry-after=2 x3, reset'

    options:
      --listen 127.0.0.1:PORT  where to listen; port 0 takes a free one (127.0.0.1:8787)
      --data DIR               where to keep the data; made where there is none
      --dialect NAME           the contract to keep: blueprint or loop (blueprint)
      --quirks LIST            with loop: `measured` behaves as the deployed backend
                               does where that is not as its schema says; `repaired`
                               does so without the limiter's crash; or names
      --fault SPEC             faults for one method and path, in turn; repeatable
      --token-life SPAN        how long an access token is good (1h)
      --processing-steps N     at which poll an upload is processed, 1 to 1000 (3)
      --clock INSTANT          the clock stands there until POST /_sandbox/clock sets it
      --fhir MANNER            serve FHIR R4 below /fhir too, as hapi, medplum, azure or
                               google does
      --fhir-with LIST         switches of it: update-create, no-update-create,
                               references, no-references, bundle-bytes=N, rate=N
                               (a second), search-lag=SPAN
      --fhir-login METHOD      none, token:TEXT, secret:ID:SECRET, or jwt:ID:FILE with a
                               file of public keys as a JWK set (none)
      --fhir-scope SCOPES      what a client may get (system/*.cruds)
      --exit-with-stdin        end when standard input ends
      -h, --help               print this

    a fault SPEC is `METHOD PATH [~TEXT]: ACTION [xCOUNT], ...`; PATH is what follows
    /api/v1 or /fhir (of a bundle's entry too, so that `PUT /Observation/*: pass x9, 429`
    throttles the tenth), `*` any method or segment, TEXT what the body must have, `x*` for ever.
    The actions:
      503 [retry-after=N]      any status of 200 to 599
      reset                    reset the connection, the request is not carried out
      drop                     carry the request out, then reset without an answer
      stored=400               carry the request out, then answer 400 to 599 all the same
      truncate                 carry it out, send half of the answer
      latency=250ms            carry it out, answer late
      garbage                  200 with a body that is no JSON
      outage                   what is answered while what is behind it is down
      expire                   401, and the token is revoked
      hang                     never answer
      lose                     FHIR: answer as if it were stored
      bloat                    FHIR: 400 with an OperationOutcome of 4 MiB
      empty                    FHIR: delete every resource, then carry the request out
      pass                     answer as usual

    the quirks, all in `measured`, all but the last in `repaired`:\(quirkLines)

    outside the contract: GET /_sandbox/summary, /_sandbox/metrics?limit&after,
    /_sandbox/sends?after (which samples came how often, and with what answer),
    /_sandbox/arrivals (when each request came), /_sandbox/mail, /_sandbox/fhir,
    /_sandbox/fhir/resources?limit&after (id and versions of each),
    /_sandbox/fhir/requests?limit&after (each with its entries and their answers);
    POST /_sandbox/fault (a SPEC a line), /_sandbox/expire-tokens (`access` or `all`),
    /_sandbox/fail-processing and /_sandbox/stall-processing (of what
    is not finished), /_sandbox/edit-metric (an id: another value, of now),
    /_sandbox/clock (an instant); DELETE /_sandbox/fault, /_sandbox/fhir (all resources)

    exit status: 0 ended by SIGINT or SIGTERM, 64 usage, 69 port or directory unusable

    """

/// The names of the quirks, wrapped into lines.
private let quirkLines = Quirk.allCases.reduce(into: ["    "]) { lines, quirk in
    let word = quirk.rawValue + (quirk == Quirk.allCases.last ? "" : ", ")
    if (lines.last ?? "").count + word.count > 88 { lines.append("    ") }
    lines[lines.count - 1] += word
}.map { "\n" + $0.trimmingSpaces }.joined()
