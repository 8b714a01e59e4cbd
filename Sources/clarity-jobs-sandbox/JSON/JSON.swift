/// A JSON value; the members of an object keep their order.
enum JSON: Hashable, Sendable {
    case null
    case bool(Bool)
    /// A number written without fraction and exponent that fits in 64 bits.
    case integer(Int64)
    /// Every other number; always finite.
    case number(Double)
    case string(String)
    case array([JSON])
    case object([Member])

    /// A name of an object with its value.
    struct Member: Hashable, Sendable {
        var name: String
        var value: JSON
    }

    /// The member's value; `nil` when this is no object or has no such member. Of members with the
    /// same name the last counts.
    subscript(name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name == name }?.value
    }

    /// A string, or null for `nil`.
    static func text(_ text: String?) -> JSON { text.map { .string($0) } ?? .null }

    /// An instant in ISO 8601.
    static func time(_ time: Timestamp) -> JSON { .string(time.description) }

    /// A count.
    static func count(_ count: Int) -> JSON { .integer(Int64(count)) }

    /// The members but those whose value is null.
    var withoutNulls: JSON {
        guard case .object(let members) = self else { return self }
        return .object(members.filter { $0.value != .null })
    }
}

extension JSON: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral,
    ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral
{
    init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(elements.map { Member(name: $0.0, value: $0.1) })
    }
    init(arrayLiteral elements: JSON...) { self = .array(elements) }
    init(stringLiteral value: String) { self = .string(value) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(integerLiteral value: Int64) { self = .integer(value) }
    init(floatLiteral value: Double) { self = .number(value) }
}
