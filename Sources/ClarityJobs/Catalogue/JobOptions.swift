public import ClarityScheduler

/// The settings of the job file and the options of a job, as an order carries them.
///
/// The scheduler has checked them already. An order that does not fit is still a configuration
/// failure, because anybody may start a worker.
public struct JobOptions: Sendable {
    package let order: AttemptOrder
    package var zones: SourceZones

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

    /// Returns a whole number from the job's options, or its declared default.
    package func integer(_ key: String) throws(Failure) -> Int {
        guard let value = try optionalInteger(key) else {
            throw Failure(.configuration, "option `\(key)` is not a number in its range")
        }
        return value
    }

    /// Returns a whole number from the job's options, or its declared default; `nil` if there is
    /// neither.
    package func optionalInteger(_ key: String) throws(Failure) -> Int? {
        let declaration = try declared(key)
        guard let text = order.options[key] ?? declaration.standard else { return nil }
        guard case .integer(let range) = declaration.form, let value = Int(text),
            range.contains(value)
        else { throw Failure(.configuration, "option `\(key)` is not a number in its range") }
        return value
    }

    /// Returns a size in bytes from the job's options, or its declared default; `nil` if there is
    /// neither.
    package func optionalSize(_ key: String) throws(Failure) -> Int64? {
        let declaration = try declared(key)
        guard let text = order.options[key] ?? declaration.standard else { return nil }
        guard case .size(let range) = declaration.form, let value = Int64(text),
            range.contains(value)
        else { throw Failure(.configuration, "option `\(key)` is not a size in its range") }
        return value
    }

    /// Returns a word from the job's options, or its declared default.
    package func choice(_ key: String) throws(Failure) -> String {
        let declaration = try declared(key)
        guard case .choice(let words) = declaration.form,
            let value = order.options[key] ?? declaration.standard, words.contains(value)
        else { throw Failure(.configuration, "option `\(key)` is not one of its words") }
        return value
    }

    /// Returns a span from the job's options, or its declared default.
    package func duration(_ key: String) throws(Failure) -> Duration {
        guard let value = try optionalDuration(key) else {
            throw Failure(.configuration, "option `\(key)` is not a span in its range")
        }
        return value
    }

    /// Returns a span from the job's options, or its declared default; `nil` if there is neither.
    package func optionalDuration(_ key: String) throws(Failure) -> Duration? {
        let declaration = try declared(key)
        guard let text = order.options[key] ?? declaration.standard else { return nil }
        guard case .duration(let range) = declaration.form, let value = Int64(text),
            range.contains(.milliseconds(value))
        else { throw Failure(.configuration, "option `\(key)` is not a span in its range") }
        return .milliseconds(value)
    }

    /// Returns a boolean from the job's options, or its declared default.
    package func flag(_ key: String) throws(Failure) -> Bool {
        let declaration = try declared(key)
        guard case .boolean = declaration.form,
            let value = (order.options[key] ?? declaration.standard).flatMap({ Bool($0) })
        else { throw Failure(.configuration, "option `\(key)` is neither `true` nor `false`") }
        return value
    }

    /// Returns a language tag from the job's options, or its declared default: words of letters and
    /// digits with `-` between them, 35 characters at most (RFC 5646, section 4.4.1).
    package func languageTag(_ key: String) throws(Failure) -> String {
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
    package func option(_ key: String) -> String? {
        order.options[key].flatMap { $0.isEmpty ? nil : $0 }
    }

    package func text(_ key: String) throws(Failure) -> String {
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
