import Platform

/// The value of a property, of a type that a condition can use.
enum BusValue: Hashable, Sendable {
    case truth(Bool)
    /// An integer of any width, up to `Int64.max`.
    case number(Int64)
    case real(Double)
    /// A string, an object path or a signature, of at most `longestText` bytes.
    case text(String)
    /// Any other value, with a description for display.
    case unreadable(String)

    /// The longest text, in bytes of UTF-8.
    static var longestText: Int { 1024 }
}

/// The properties of an object's interface, by name.
typealias BusProperties = [String: BusValue]

/// Objects by path, each with the properties of its interfaces.
typealias BusObjects = [String: [String: BusProperties]]

extension BusProperties {
    /// Returns a property that must be true or false.
    ///
    /// - Throws: `Misunderstood` if the property is missing or has another type.
    func truth(_ name: String) throws(Misunderstood) -> Bool {
        let value = try self.value(name)
        guard case .truth(let truth) = value else {
            throw Misunderstood(reason: "\(value.description) is neither true nor false")
        }
        return truth
    }

    /// Returns a property that must be an integer in `range`.
    ///
    /// - Throws: `Misunderstood` if the property is missing, has another type or is out of range.
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

    /// Returns a property that must be a floating-point number in `range`.
    ///
    /// - Throws: `Misunderstood` if the property is missing, has another type, or is out of range,
    ///   which includes NaN.
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

    /// Returns a property that must be text.
    ///
    /// - Throws: `Misunderstood` if the property is missing or has another type.
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
    /// The value for display: one short line, whatever the service sent.
    var description: String {
        switch self {
        case .truth(let truth): "\(truth)"
        case .number(let number): "\(number)"
        case .real(let real): "\(real)"
        case .text(let text): shown(text)
        case .unreadable(let what): what
        }
    }
}
