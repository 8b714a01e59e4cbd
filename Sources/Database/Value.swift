/// A value to bind, in one of SQLite's storage classes.
public enum Value: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    /// Binds text, or NULL for `nil`.
    public static func text(_ text: String?) -> Value { text.map { .text($0) } ?? .null }

    /// Binds an integer, or NULL for `nil`.
    public static func integer(_ number: Int64?) -> Value { number.map { .integer($0) } ?? .null }
}

extension Value: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(stringLiteral value: String) { self = .text(value) }
}
