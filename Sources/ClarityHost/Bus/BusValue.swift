/// The value of a property, of the types of which a condition can be made.
enum BusValue: Hashable, Sendable {
    case truth(Bool)
    /// An integer of any width but above `Int64.max`.
    case number(Int64)
    case real(Double)
    /// A string, an object path or a signature, of at most `longestText` bytes.
    case text(String)
    /// Anything else; what it is, for people.
    case unreadable(String)

    /// In bytes of UTF-8.
    static var longestText: Int { 1024 }
}

/// The properties of an object's interface by their names.
typealias BusProperties = [String: BusValue]

/// Objects by their paths, each with the properties of its interfaces.
typealias BusObjects = [String: [String: BusProperties]]

extension BusProperties {
    /// A property that has to be true or false.
    func truth(_ name: String) throws(Misunderstood) -> Bool {
        let value = try self.value(name)
        guard case .truth(let truth) = value else {
            throw Misunderstood(reason: "\(value.description) is neither true nor false")
        }
        return truth
    }

    /// A property that has to be a whole number in `range`.
    func number(_ name: String, in range: ClosedRange<Int64>) throws(Misunderstood) -> Int64 {
        let value = try self.value(name)
        guard case .number(let number) = value else {
            throw Misunderstood(reason: "\(value.description) is no whole number")
        }
        guard range.contains(number) else {
            throw Misunderstood(
                reason: "\(number) is not in \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// A property that has to be a number in `range`, which "not a number" is not.
    func real(_ name: String, in range: ClosedRange<Double>) throws(Misunderstood) -> Double {
        let value = try self.value(name)
        guard case .real(let real) = value else {
            throw Misunderstood(reason: "\(value.description) is no number")
        }
        guard range.contains(real) else {
            throw Misunderstood(
                reason: "\(real) is not in \(range.lowerBound) to \(range.upperBound)")
        }
        return real
    }

    /// A property that has to be text.
    func text(_ name: String) throws(Misunderstood) -> String {
        let value = try self.value(name)
        guard case .text(let text) = value else {
            throw Misunderstood(reason: "\(value.description) is no text")
        }
        return text
    }

    private func value(_ name: String) throws(Misunderstood) -> BusValue {
        guard let value = self[name] else {
            throw Misunderstood(reason: "it does not say `\(name)`")
        }
        return value
    }
}

extension BusValue: CustomStringConvertible {
    /// For people: one line, and no longer than that, whatever was sent.
    var description: String {
        switch self {
        case .truth(let truth): "\(truth)"
        case .number(let number): "\(number)"
        case .real(let real): "\(real)"
        case .text(let text): "`\(BusValue.printable(text))`"
        case .unreadable(let what): what
        }
    }

    /// The beginning of a text with `?` for all but printable ASCII.
    static func printable(_ text: String) -> String {
        let scalars = text.unicodeScalars.prefix(60).map { scalar in
            (0x20...0x7E).contains(scalar.value) ? Character(scalar) : "?"
        }
        return String(scalars)
    }
}
