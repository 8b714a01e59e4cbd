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
