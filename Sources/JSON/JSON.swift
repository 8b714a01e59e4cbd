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

/// A part of a JSON text, of which nothing becomes a value before it is requested.
///
/// So a large message costs only what is read of it, and a part can be kept as it was received. Of
/// members with the same name, the first one counts.
public struct JSONPart: Sendable {
    /// Why a part is not what was requested; names the part and never shows its content.
    public struct Fault: Error, Hashable, Sendable, CustomStringConvertible {
        private let path: String
        private let reason: String

        fileprivate init(_ path: String, _ reason: String) {
            self.path = path
            self.reason = reason
        }

        /// The fault as a sentence, such as `` `data[3].id` is missing``.
        public var description: String { "\(path.isEmpty ? "it" : "`\(path)`") \(reason)" }
    }

    /// A message may nest deeper than a value that is read as a whole.
    private static let deepest = 512
    private static let malformed = "is no valid JSON"

    /// Stands before the part and sees nothing else.
    private let parser: JSONParser
    private let path: String

    private init(_ parser: JSONParser, _ path: String) {
        self.parser = parser
        self.path = path
    }

    /// Reads a whole text, which may begin with a byte order mark.
    ///
    /// Checks how the text is put together. Whether a name, text or number in it has the right form
    /// is checked when that is requested.
    public init(of document: [UInt8]) throws(Fault) {
        var parser = JSONParser(marked: document, deepest: JSONPart.deepest)
        do throws(JSONFault) {
            var check = parser
            try check.check()
            try check.end()
            self.init(try parser.part(), "")
        } catch {
            throw Fault("", JSONPart.malformed)
        }
    }

    /// The part as it was received.
    public var bytes: ArraySlice<UInt8> { parser.rest }

    /// Whether the part is a list.
    public var isList: Bool { bytes.first == UInt8(ascii: "[") }

    /// Returns the fault that this part, or its member `name`, has for a reader.
    public func fault(_ reason: String, at name: String? = nil) -> Fault {
        Fault(name.map { path.isEmpty ? $0 : "\(path).\($0)" } ?? path, reason)
    }

    /// Returns the names of an object's members.
    public func names() throws(Fault) -> [String] {
        try walk("{") { parser throws(JSONFault) in
            var names: [String] = []
            while let name = try parser.nextName() {
                names.append(name)
                try parser.skip()
            }
            return names
        }
    }

    /// Returns the elements of a list.
    public func elements() throws(Fault) -> [JSONPart] {
        try walk("[") { parser throws(JSONFault) in
            var elements: [JSONPart] = []
            while try parser.nextElement() {
                elements.append(JSONPart(try parser.part(), "\(path)[\(elements.count)]"))
            }
            return elements
        }
    }

    /// Returns an object's member, `nil` if there is none or it is null.
    public subscript(name: String) -> JSONPart? {
        get throws(Fault) {
            guard let member = try find(name), member.bytes.first != UInt8(ascii: "n") else {
                return nil
            }
            return member
        }
    }

    /// Whether an object has a member of this name, even if it is null.
    public func has(_ name: String) throws(Fault) -> Bool { try find(name) != nil }

    /// Returns an object's member, which must be there.
    public func member(_ name: String) throws(Fault) -> JSONPart {
        guard let member = try find(name) else { throw fault("is missing", at: name) }
        return member
    }

    /// Returns the member of the first name that is there and not null, otherwise the one of the
    /// last name, which must be there.
    public func member(_ name: String, or other: String) throws(Fault) -> JSONPart {
        if let member = try self[name] { return member }
        return try member(other)
    }

    /// The part as a text.
    public func text() throws(Fault) -> String {
        guard case .string(let text) = try value() else { throw fault("has another type") }
        return text
    }

    /// The part as `true` or `false`.
    public func flag() throws(Fault) -> Bool {
        guard case .bool(let flag) = try value() else { throw fault("has another type") }
        return flag
    }

    /// The part as a number.
    public func number() throws(Fault) -> Double {
        guard let number = try value().double else { throw fault("has another type") }
        return number
    }

    /// The part as a whole number, however it is written.
    public func integer() throws(Fault) -> Int {
        switch try value() {
        case .integer(let number): return Int(number)
        case .number(let number):
            guard let number = Int(exactly: number) else { throw fault(JSONPart.malformed) }
            return number
        default: throw fault("has another type")
        }
    }

    /// The value of a part without parts of its own.
    private func value() throws(Fault) -> JSON {
        switch bytes.first {
        case UInt8(ascii: "{"), UInt8(ascii: "["): throw fault("has another type")
        case UInt8(ascii: "n"): throw fault("is null")
        default: break
        }
        var parser = parser
        do throws(JSONFault) { return try parser.whole() } catch { throw fault(JSONPart.malformed) }
    }

    private func find(_ name: String) throws(Fault) -> JSONPart? {
        try walk("{") { parser throws(JSONFault) in
            while let next = try parser.nextName() {
                guard next == name else {
                    try parser.skip()
                    continue
                }
                return JSONPart(try parser.part(), path.isEmpty ? name : "\(path).\(name)")
            }
            return nil
        }
    }

    private func walk<Value>(
        _ bracket: Unicode.Scalar, _ body: (inout JSONParser) throws(JSONFault) -> Value
    ) throws(Fault) -> Value {
        switch bytes.first {
        case UInt8(ascii: bracket): break
        case UInt8(ascii: "n"): throw fault("is null")
        default: throw fault("has another type")
        }
        var parser = parser
        do throws(JSONFault) {
            try parser.enter(bracket)
            return try body(&parser)
        } catch {
            throw fault(JSONPart.malformed)
        }
    }
}
