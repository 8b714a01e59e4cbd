public import ClarityContract
public import ClarityJobs
public import ClarityScheduler

/// The job file's settings for a worker, read from an order.
///
/// The scheduler has checked them already. An order that does not fit is still a configuration
/// failure, because anybody may start a worker.
public struct WorkOptions: Sendable {
    private let order: AttemptOrder
    var zones: SourceZones

    /// Reads the options of `order`.
    ///
    /// - Parameter zones: the time zones that sources can name.
    public init(
        _ order: AttemptOrder, zones: SourceZones = SourceZones(environment: [:])
    ) {
        self.order = order
        self.zones = zones
    }

    /// Returns the path of the state directory.
    public func stateDirectory() throws(Failure) -> String { try text("state.directory") }

    /// Returns the base URL of the backend's API.
    public func backendURL() throws(Failure) -> String { try text("backend.url") }

    /// Returns the backend's dialect, or that it is to be detected.
    public func dialect() throws(Failure) -> DialectChoice {
        try WorkOptions.dialect(named: order.options["backend.dialect"])
    }

    /// Parses the name of a dialect; `auto` and `nil` mean that it is detected.
    public static func dialect(named name: String?) throws(Failure) -> DialectChoice {
        guard let name, name != "auto" else { return .auto }
        guard let dialect = Dialect.named(name) else {
            throw Failure(.configuration, "`backend.dialect` is not a known dialect")
        }
        return .fixed(dialect)
    }

    /// Returns which servers to trust as the backend, or as the job's own receiver.
    ///
    /// - Throws: `TransportError.refused` for pins that are not at least two.
    public func trust() throws(TransportError) -> CurlTransport.Trust {
        // The receiver of the audit log is another server, with trust settings of its own.
        let prefix = order.kind == JobKind("audit-upload") ? "" : "backend."
        return try CurlTransport.Trust(
            authorities: order.options["\(prefix)ca_bundle"],
            pinLines: order.options["\(prefix)pins"])
    }

    /// Returns the URL to which the audit log is sent.
    func auditURL() throws(Failure) -> String { try text("url") }

    /// Returns the wait before the first retry of a request.
    public func retryWait() throws(Failure) -> Duration {
        guard let text = order.options["backend.retry_wait"] else { return .seconds(1) }
        guard let milliseconds = Int64(text), (1...60_000).contains(milliseconds) else {
            throw Failure(.configuration, "`backend.retry_wait` is not 1 to 60000 milliseconds")
        }
        return .milliseconds(milliseconds)
    }

    /// Returns a whole number from the job's options, or its declared default.
    func integer(_ key: String) throws(Failure) -> Int {
        guard let value = try optionalInteger(key) else {
            throw Failure(.configuration, "option `\(key)` is not a number in its range")
        }
        return value
    }

    /// Returns a whole number from the job's options, or its declared default; `nil` if there is
    /// neither.
    func optionalInteger(_ key: String) throws(Failure) -> Int? {
        let declaration = try declared(key)
        guard let text = order.options[key] ?? declaration.standard else { return nil }
        guard case .integer(let range) = declaration.form, let value = Int(text),
            range.contains(value)
        else { throw Failure(.configuration, "option `\(key)` is not a number in its range") }
        return value
    }

    /// Returns a size in bytes from the job's options, or its declared default; `nil` if there is
    /// neither.
    func optionalSize(_ key: String) throws(Failure) -> Int64? {
        let declaration = try declared(key)
        guard let text = order.options[key] ?? declaration.standard else { return nil }
        guard case .size(let range) = declaration.form, let value = Int64(text),
            range.contains(value)
        else { throw Failure(.configuration, "option `\(key)` is not a size in its range") }
        return value
    }

    /// Returns a word from the job's options, or its declared default.
    func choice(_ key: String) throws(Failure) -> String {
        let declaration = try declared(key)
        guard case .choice(let words) = declaration.form,
            let value = order.options[key] ?? declaration.standard, words.contains(value)
        else { throw Failure(.configuration, "option `\(key)` is not one of its words") }
        return value
    }

    /// Returns a span from the job's options, or its declared default.
    func duration(_ key: String) throws(Failure) -> Duration {
        guard let value = try optionalDuration(key) else {
            throw Failure(.configuration, "option `\(key)` is not a span in its range")
        }
        return value
    }

    /// Returns a span from the job's options, or its declared default; `nil` if there is neither.
    func optionalDuration(_ key: String) throws(Failure) -> Duration? {
        let declaration = try declared(key)
        guard let text = order.options[key] ?? declaration.standard else { return nil }
        guard case .duration(let range) = declaration.form, let value = Int64(text),
            range.contains(.milliseconds(value))
        else { throw Failure(.configuration, "option `\(key)` is not a span in its range") }
        return .milliseconds(value)
    }

    /// Returns a boolean from the job's options, or its declared default.
    func flag(_ key: String) throws(Failure) -> Bool {
        let declaration = try declared(key)
        guard case .boolean = declaration.form,
            let value = (order.options[key] ?? declaration.standard).flatMap({ Bool($0) })
        else { throw Failure(.configuration, "option `\(key)` is neither `true` nor `false`") }
        return value
    }

    /// Returns a language tag from the job's options, or its declared default: words of letters and
    /// digits with `-` between them, 35 characters at most (RFC 5646, section 4.4.1).
    func languageTag(_ key: String) throws(Failure) -> String {
        let standard = try declared(key).standard
        let value = order.options[key] ?? standard ?? ""
        let words = value.split(separator: "-", omittingEmptySubsequences: false)
        guard value.utf8.count <= 35, (2...8).contains(words[0].utf8.count),
            words.allSatisfy({ (1...8).contains($0.utf8.count) }),
            value.utf8.allSatisfy({ byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"): true
                default: false
                }
            })
        else {
            throw Failure(
                .configuration, "option `\(key)` is no language tag such as `en` or `pt-BR`")
        }
        return value
    }

    /// Returns the value of an option; `nil` if it is missing or empty.
    func option(_ key: String) -> String? { order.options[key].flatMap { $0.isEmpty ? nil : $0 } }

    func text(_ key: String) throws(Failure) -> String {
        guard let value = option(key) else {
            throw Failure(.configuration, "`\(key)` is missing")
        }
        return value
    }

    private func declared(_ key: String) throws(Failure) -> OptionDeclaration {
        let kind = clarityCatalogue.kinds.first { $0.kind == order.kind }
        guard let declaration = kind?.options.first(where: { $0.key == key }) else {
            throw Failure(
                .internalFault, "the kind `\(order.kind)` declares no option `\(key)`")
        }
        return declaration
    }
}
