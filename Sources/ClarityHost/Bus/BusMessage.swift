import Platform
import CSystemd
import Glibc

/// A message from the bus, which is read from start to end.
///
/// The contents are not trusted. Each read names the type that it expects and fails if the message
/// holds another type. The message is valid only while the handler that received it runs.
struct BusMessage {
    /// The most objects read from a list; the rest are dropped.
    static let mostObjects = 256

    private let message: OpaquePointer

    init(_ message: OpaquePointer) { self.message = message }

    // MARK: Header

    /// The sending connection, as the bus reports it: `:1.42`, or `org.freedesktop.DBus` for the
    /// bus itself.
    var sender: String { BusMessage.text(csystemd_sender(message)) }
    var path: String { BusMessage.text(csystemd_path(message)) }
    var interface: String { BusMessage.text(csystemd_interface(message)) }
    var member: String { BusMessage.text(csystemd_member(message)) }
    /// The error's name; `nil` if the message is not an error.
    var errorName: String? { csystemd_error_name(message).map(BusMessage.text) }

    /// The number of the call that the message replies to.
    var replyCookie: UInt64? {
        var cookie: UInt64 = 0
        return csystemd_reply_cookie(message, &cookie) >= 0 ? cookie : nil
    }

    // MARK: Body

    /// Reads a string, an object path or a signature. Returns `nil` for another type, for text
    /// longer than `BusValue.longestText`, and for invalid UTF-8.
    func readText(_ type: Character = "s") -> String? {
        var start: UnsafePointer<CChar>?
        guard csystemd_read(message, BusMessage.code(type), &start) > 0, let start else {
            return nil
        }
        guard strnlen(start, BusValue.longestText + 1) <= BusValue.longestText else { return nil }
        return String(validatingCString: start)
    }

    /// Reads an `a{sv}` and returns the properties in `wanted`; `nil` if the message holds another
    /// type.
    func readProperties(_ wanted: Set<String>) -> BusProperties? {
        var properties: BusProperties = [:]
        let isRead = readArray("{sv}", of: "e", "sv") {
            guard let name = readText() else { return false }
            guard wanted.contains(name) else { return skip("v") }
            guard let value = readVariant() else { return false }
            properties[name] = value
            return true
        }
        return isRead ? properties : nil
    }

    /// Reads an `a{oa{sa{sv}}}` and returns the objects that have at least one of the interfaces in
    /// `wanted`, with the properties named there; `nil` if the message holds another type.
    func readTree(_ wanted: [String: Set<String>]) -> BusObjects? {
        var objects: BusObjects = [:]
        let isRead = readArray("{oa{sa{sv}}}", of: "e", "oa{sa{sv}}") {
            guard let path = readText("o") else { return false }
            let isFull = objects.count >= BusMessage.mostObjects
            return readArray("{sa{sv}}", of: "e", "sa{sv}") {
                guard let interface = readText() else { return false }
                guard !isFull, let names = wanted[interface] else { return skip("a{sv}") }
                guard let properties = readProperties(names) else { return false }
                objects[path, default: [:]][interface] = properties
                return true
            }
        }
        return isRead ? objects : nil
    }

    /// Reads an array of structures, each with fields of the types `leading` followed by an object
    /// path, and returns the paths; `nil` if the message holds another type.
    func readPaths(after leading: String) -> [String]? {
        var paths: [String] = []
        let isRead = readArray("(\(leading)o)", of: "r", "\(leading)o") {
            guard skip(leading), let path = readText("o") else { return false }
            if paths.count < BusMessage.mostObjects { paths.append(path) }
            return true
        }
        return isRead ? paths : nil
    }

    /// Reads an `as` and returns whether it contains a name in `wanted`; `nil` if the message holds
    /// another type.
    func readNamesAny(of wanted: Set<String>) -> Bool? {
        guard csystemd_enter(message, BusMessage.code("a"), "s") > 0 else { return nil }
        var isNamed = false
        while true {
            var start: UnsafePointer<CChar>?
            let result = csystemd_read(message, BusMessage.code("s"), &start)
            guard result >= 0 else { return nil }
            guard result > 0, let start else { break }
            if wanted.contains(where: { strcmp($0, start) == 0 }) { isNamed = true }
        }
        return csystemd_exit(message) >= 0 ? isNamed : nil
    }

    /// Reads an array. `element` has to read each element to its end and returns whether it could.
    private func readArray(
        _ contents: String, of type: Character, _ fields: String, _ element: () -> Bool
    ) -> Bool {
        guard csystemd_enter(message, BusMessage.code("a"), contents) > 0 else { return false }
        while true {
            let result = csystemd_enter(message, BusMessage.code(type), fields)
            guard result >= 0 else { return false }
            if result == 0 { break }
            guard element(), csystemd_exit(message) >= 0 else { return false }
        }
        return csystemd_exit(message) >= 0
    }

    private func readVariant() -> BusValue? {
        var type: CChar = 0
        var contents: UnsafePointer<CChar>?
        guard csystemd_peek(message, &type, &contents) > 0, type == BusMessage.code("v"),
            let contents
        else { return nil }
        let signature = String(cString: contents)
        guard let kind = signature.utf8.first, signature.utf8.count == 1,
            "bynqiuxtdsog".utf8.contains(kind)
        else {
            return skip("v")
                ? .unreadable("a value of type \(shown(signature))") : nil
        }
        guard csystemd_enter(message, BusMessage.code("v"), signature) > 0,
            let value = readBasic(kind), csystemd_exit(message) >= 0
        else { return nil }
        return value
    }

    private func readBasic(_ kind: UInt8) -> BusValue? {
        func read<Value: BitwiseCopyable>(_ value: Value, _ make: (Value) -> BusValue) -> BusValue?
        {
            var value = value
            return csystemd_read(message, CChar(kind), &value) > 0 ? make(value) : nil
        }
        switch Character(Unicode.Scalar(kind)) {
        case "b": return read(CInt(0)) { .truth($0 != 0) }
        case "y": return read(UInt8(0)) { .number(Int64($0)) }
        case "n": return read(Int16(0)) { .number(Int64($0)) }
        case "q": return read(UInt16(0)) { .number(Int64($0)) }
        case "i": return read(Int32(0)) { .number(Int64($0)) }
        case "u": return read(UInt32(0)) { .number(Int64($0)) }
        case "x": return read(Int64(0)) { .number($0) }
        case "t":
            return read(UInt64(0)) { value in
                Int64(exactly: value).map { .number($0) } ?? .unreadable("\(value)")
            }
        case "d": return read(Double(0)) { .real($0) }
        default:
            return read(UnsafePointer<CChar>?.none) { start in
                guard let start,
                    strnlen(start, BusValue.longestText + 1) <= BusValue.longestText,
                    let text = String(validatingCString: start)
                else { return .unreadable("a text that is too long or none") }
                return .text(text)
            }
        }
    }

    private func skip(_ types: String) -> Bool { csystemd_skip(message, types) >= 0 }

    private static func code(_ type: Character) -> CChar {
        type.asciiValue.map { CChar($0) } ?? 0
    }

    private static func text(_ start: UnsafePointer<CChar>?) -> String {
        start.map { String(cString: $0) } ?? ""
    }
}

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
