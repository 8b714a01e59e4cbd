public import HealthModel
public import ClarityScheduler
public import JSON

/// The JSON type of a value in a command's result.
public indirect enum ValueType: Sendable {
    case text
    case integer
    case number
    case boolean
    /// An instant in RFC 3339, in UTC.
    case instant
    /// A day, such as `2026-11-20`.
    case day
    /// A value whose form somebody else decides, such as the backend.
    case any
    /// An object whose names are not known beforehand.
    case map(ValueType)
    case list(ValueType)
    case object([Field])
    /// An object that occurs in several results, by the name of its report.
    case shared(String)
    case either([ValueType])
}

/// The declaration of a field of an object in a command's result.
public struct Field: Sendable {
    public let name: String
    public let type: ValueType
    public let summary: String
    /// Whether the field may be null or left out.
    public let isOptional: Bool

    /// Declares a field.
    public init(_ name: String, _ type: ValueType, _ summary: String, isOptional: Bool = false) {
        (self.name, self.type, self.summary) = (name, type, summary)
        self.isOptional = isOptional
    }
}

/// A value that a report can contain.
public protocol ReportValue: SendableMetatype {
    static var valueType: ValueType { get }
    static var isOptional: Bool { get }
    var json: JSON { get }
    /// The value in a cell of a table.
    var shown: String { get }
}

extension ReportValue {
    public static var isOptional: Bool { false }
    public var shown: String { json.line }
}

extension String: ReportValue {
    public static var valueType: ValueType { .text }
    public var json: JSON { .string(self) }
    public var shown: String { self }
}

extension Bool: ReportValue {
    public static var valueType: ValueType { .boolean }
    public var json: JSON { .bool(self) }
    public var shown: String { self ? "yes" : "no" }
}

extension Int: ReportValue {
    public static var valueType: ValueType { .integer }
    public var json: JSON { .integer(Int64(self)) }
}

extension Int64: ReportValue {
    public static var valueType: ValueType { .integer }
    public var json: JSON { .integer(self) }
}

extension Double: ReportValue {
    public static var valueType: ValueType { .number }
    public var json: JSON { .number(self) }
}

extension Instant: ReportValue {
    public static var valueType: ValueType { .instant }
    public var json: JSON { .string(description) }
    /// The instant without its milliseconds.
    public var shown: String { Instant(secondsSince1970: secondsSince1970).description }
}

extension CivilDay: ReportValue {
    public static var valueType: ValueType { .day }
    public var json: JSON { .string(description) }
    public var shown: String { description }
}

extension JSON: ReportValue {
    public static var valueType: ValueType { .any }
    public var json: JSON { self }
}

extension Optional: ReportValue where Wrapped: ReportValue {
    public static var valueType: ValueType { Wrapped.valueType }
    public static var isOptional: Bool { true }
    public var json: JSON { self?.json ?? .null }
    public var shown: String { self?.shown ?? "-" }
}

extension Array: ReportValue where Element: ReportValue {
    public static var valueType: ValueType { .list(Element.valueType) }
    public var json: JSON { .array(map(\.json)) }
}

/// An object of counts, sorted by name.
extension Dictionary: ReportValue where Key == String, Value: ReportValue {
    public static var valueType: ValueType { .map(Value.valueType) }
    public var json: JSON {
        .object(sorted { $0.key < $1.key }.map { JSON.Member(name: $0.key, value: $0.value.json) })
    }
}

/// An object of counts in the order in which they were counted.
extension Tally: ReportValue {
    public static var valueType: ValueType { .map(.integer) }
    public var json: JSON {
        .object(names.map { JSON.Member(name: $0, value: .integer(self[$0])) })
    }
}

/// A number that programs get rounded to a thousandth.
struct RoundedNumber: ReportValue {
    let number: Double

    init(_ number: Double) { self.number = number }

    static var valueType: ValueType { .number }
    var json: JSON { roundedJSON(number) }
}

extension CaseIterable where Self: RawRepresentable<String> {
    /// The words of an enum as a reader of the results meets them: `` `a`, `b` ``.
    public static var listed: String { listed { _ in true } }

    /// The same of those words alone that a result can have.
    public static func listed(_ canBe: (Self) -> Bool) -> String {
        allCases.filter(canBe).map { "`\($0.rawValue)`" }.joined(separator: ", ")
    }
}
