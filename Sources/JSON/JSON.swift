/// A JSON value; the members of an object keep their order.
public enum JSON: Hashable, Sendable {
    case null
    case bool(Bool)
    /// A number written without fraction and exponent that fits in 64 bits; exact.
    case integer(Int64)
    /// Any other number; the parser returns only finite ones.
    case number(Double)
    case string(String)
    case array([JSON])
    case object([Member])

    /// A name in an object, and its value.
    public struct Member: Hashable, Sendable {
        public var name: String
        public var value: JSON

        /// Creates a member.
        public init(name: String, value: JSON) {
            self.name = name
            self.value = value
        }
    }

    /// Returns the value of a member; `nil` if this is not an object or has no such member.
    ///
    /// If several members have the name, the last one counts.
    public subscript(name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name == name }?.value
    }

    /// The value as text; `nil` for anything else.
    public var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The texts in a list, without its other elements; empty for anything else.
    public var texts: [String] {
        guard case .array(let elements) = self else { return [] }
        return elements.compactMap(\.text)
    }

    /// The value as a number; `nil` for anything else.
    public var double: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number): number
        default: nil
        }
    }

    /// Returns the value's description as a string, or null for `nil`.
    public static func text(_ value: (some CustomStringConvertible)?) -> JSON {
        value.map { .string($0.description) } ?? .null
    }

    /// Returns an integer, or null for `nil`.
    public static func integer(optional value: Int64?) -> JSON {
        value.map { .integer($0) } ?? .null
    }

    /// Returns a count as an integer.
    public static func count(_ count: Int) -> JSON { .integer(Int64(count)) }

    /// Returns an object of counts, sorted by name.
    public static func counts(_ counts: [String: Int64]) -> JSON {
        .object(
            counts.sorted { $0.key < $1.key }
                .map { Member(name: $0.key, value: .integer($0.value)) })
    }

    /// Returns the object with the members of another one at its end; other values as they are.
    public func adding(_ more: JSON) -> JSON {
        guard case .object(let members) = self, case .object(let others) = more else { return self }
        return .object(members + others)
    }

    /// The object without the members whose value is null; any other value is unchanged.
    public var withoutNulls: JSON {
        guard case .object(let members) = self else { return self }
        return .object(members.filter { $0.value != .null })
    }
}

extension JSON: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral,
    ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral
{
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(elements.map { Member(name: $0.0, value: $0.1) })
    }
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .number(value) }
}
