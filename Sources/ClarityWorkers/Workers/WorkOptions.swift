import ClarityJobs
public import ClarityScheduler

/// What the job file says to a worker, read from an order.
///
/// The scheduler has checked it already; an order that does not fit is a configuration failure all
/// the same, since whoever starts a worker may be somebody else.
public struct WorkOptions: Sendable {
    private let order: AttemptOrder
    var zones: SourceZones

    /// Reads the options of `order`.
    ///
    /// - Parameter zones: where the zones of sources come from.
    public init(
        _ order: AttemptOrder, zones: SourceZones = SourceZones(environment: [:])
    ) {
        self.order = order
        self.zones = zones
    }

    /// Where everything is kept.
    public func stateDirectory() throws(Failure) -> String { try text("state.directory") }

    /// Where the backend's API begins.
    public func backendURL() throws(Failure) -> String { try text("backend.url") }

    /// The backend's contract, or that it is to be found out.
    public func dialect() throws(Failure) -> DialectChoice {
        try WorkOptions.dialect(named: order.options["backend.dialect"])
    }

    /// Reads the name of a dialect; `auto` and none are to be found out.
    public static func dialect(named name: String?) throws(Failure) -> DialectChoice {
        guard let name, name != "auto" else { return .auto }
        guard let dialect = Dialect.named(name) else {
            throw Failure(.configuration, "`backend.dialect` is not a known dialect")
        }
        return .fixed(dialect)
    }

    /// Which servers are believed to be the backend, or the job's own receiver.
    ///
    /// - Throws: `TransportError.refused` for pins that are not at least two.
    public func trust() throws(TransportError) -> CurlTransport.Trust {
        // The audit log's receiver is somebody else, and has a trust of its own.
        let prefix = order.kind == JobKind("audit-upload") ? "" : "backend."
        return try CurlTransport.Trust(
            authorities: order.options["\(prefix)ca_bundle"],
            pinLines: order.options["\(prefix)pins"])
    }

    /// Where the audit log is sent.
    func auditURL() throws(Failure) -> String { try text("url") }

    /// The wait before a request is repeated the first time.
    public func retryWait() throws(Failure) -> Duration {
        guard let text = order.options["backend.retry_wait"] else { return .seconds(1) }
        guard let milliseconds = Int64(text), (1...60_000).contains(milliseconds) else {
            throw Failure(.configuration, "`backend.retry_wait` is not 1 to 60000 milliseconds")
        }
        return .milliseconds(milliseconds)
    }

    /// A whole number of the job's own, or its declared standard.
    func integer(_ key: String) throws(Failure) -> Int {
        guard let value = try optionalInteger(key) else {
            throw Failure(.configuration, "option `\(key)` is not a number in its range")
        }
        return value
    }

    /// A whole number of the job's own, or its declared standard; `nil` when there is neither.
    func optionalInteger(_ key: String) throws(Failure) -> Int? {
        let declaration = try declared(key)
        guard let text = order.options[key] ?? declaration.standard else { return nil }
        guard case .integer(let range) = declaration.form, let value = Int(text),
            range.contains(value)
        else { throw Failure(.configuration, "option `\(key)` is not a number in its range") }
        return value
    }

    /// A size of the job's own in bytes, or its declared standard; `nil` when there is neither.
    func optionalSize(_ key: String) throws(Failure) -> Int64? {
        let declaration = try declared(key)
        guard let text = order.options[key] ?? declaration.standard else { return nil }
        guard case .size(let range) = declaration.form, let value = Int64(text),
            range.contains(value)
        else { throw Failure(.configuration, "option `\(key)` is not a size in its range") }
        return value
    }

    /// A word of the job's own, or its declared standard.
    func choice(_ key: String) throws(Failure) -> String {
        let declaration = try declared(key)
        guard case .choice(let words) = declaration.form,
            let value = order.options[key] ?? declaration.standard, words.contains(value)
        else { throw Failure(.configuration, "option `\(key)` is not one of its words") }
        return value
    }

    /// A span of the job's own, or its declared standard.
    func duration(_ key: String) throws(Failure) -> Duration {
        guard let value = try optionalDuration(key) else {
            throw Failure(.configuration, "option `\(key)` is not a span in its range")
        }
        return value
    }

    /// A span of the job's own, or its declared standard; `nil` when there is neither.
    func optionalDuration(_ key: String) throws(Failure) -> Duration? {
        let declaration = try declared(key)
        guard let text = order.options[key] ?? declaration.standard else { return nil }
        guard case .duration(let range) = declaration.form, let value = Int64(text),
            range.contains(.milliseconds(value))
        else { throw Failure(.configuration, "option `\(key)` is not a span in its range") }
        return .milliseconds(value)
    }

    /// A yes or no of the job's own, or its declared standard.
    func flag(_ key: String) throws(Failure) -> Bool {
        let declaration = try declared(key)
        guard case .boolean = declaration.form,
            let value = (order.options[key] ?? declaration.standard).flatMap({ Bool($0) })
        else { throw Failure(.configuration, "option `\(key)` is neither `true` nor `false`") }
        return value
    }

    /// A language tag of the job's own, or its declared standard: words of letters and digits with
    /// `-` between them, 35 characters at most (RFC 5646, section 4.4.1).
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

    /// What an option says; `nil` where it says nothing.
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
