import ClarityScheduler
import JSON

/// An object of a sample, whose fields are read by type.
struct SpoolObject {
    private let json: JSON
    /// The text before the names of its fields in a fault, such as `value.`.
    private let prefix: String

    /// Creates an object that has no other fields than these.
    init(
        _ members: [JSON.Member], _ fields: [String], prefix: String = ""
    ) throws(FieldFault) {
        json = .object(members)
        self.prefix = prefix
        if let unknown = members.first(where: { !fields.contains($0.name) }) {
            throw fault(
                String(unknown.name.prefix(40)), "a field of no meaning",
                "one of \(fields.joined(separator: ", "))")
        }
    }

    func has(_ name: String) -> Bool { json[name] != nil }

    /// Returns a text that is not empty; `nil` if there is no such field.
    func text(_ name: String) throws(FieldFault) -> String? {
        switch json[name] {
        case nil: return nil
        case .string(let text) where !text.isEmpty: return text
        case .string: throw fault(name, "an empty text", "a text")
        case let other?: throw fault(name, other.sort, "a text")
        }
    }

    func boolean(_ name: String) throws(FieldFault) -> Bool? {
        switch json[name] {
        case nil: return nil
        case .bool(let value): return value
        case let other?: throw fault(name, other.sort, "true or false")
        }
    }

    func instant(_ name: String) throws(FieldFault) -> Instant {
        let wanted = "an instant such as 2026-11-20T06:00:00Z"
        switch json[name] {
        case .string(let text):
            guard let instant = Instant(rfc3339: text) else { throw fault(name, "a text", wanted) }
            return instant
        case let other: throw fault(name, other?.sort ?? "nothing", wanted)
        }
    }

    /// Returns one of the words, by its place among them.
    func place(_ name: String, in words: [String]) throws(FieldFault) -> Int {
        let word = try text(name) ?? ""
        guard let place = words.firstIndex(of: word) else {
            throw fault(name, "a text", "one of \(words.joined(separator: ", "))")
        }
        return place
    }

    /// Returns a number of at least 0.
    func number(
        _ name: String, in range: ClosedRange<Double> = 0...(.infinity)
    ) throws(FieldFault) -> Double {
        let wanted =
            range.upperBound == .infinity
            ? "a number of at least 0"
            : "a number from \(Int(range.lowerBound)) to \(Int(range.upperBound))"
        let number: Double
        switch json[name] {
        case .integer(let value): number = Double(value)
        case .number(let value): number = value
        case let other: throw fault(name, other?.sort ?? "nothing", wanted)
        }
        guard number >= 0 else { throw fault(name, "a negative number", wanted) }
        guard number >= range.lowerBound else { throw fault(name, "a smaller number", wanted) }
        guard number <= range.upperBound else { throw fault(name, "a larger number", wanted) }
        // Turns a negative zero into zero.
        return number + 0
    }

    /// Returns a whole number; `standard` if there is no such field.
    func whole(
        _ name: String, _ range: ClosedRange<Int>, else standard: Int? = nil
    ) throws(FieldFault) -> Int {
        let wanted = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        switch json[name] {
        case .integer(let value):
            guard range.contains(Int(clamping: value)) else {
                throw fault(name, "another number", wanted)
            }
            return Int(value)
        case nil:
            guard let standard else { throw fault(name, "nothing", wanted) }
            return standard
        case let other?: throw fault(name, other.sort, wanted)
        }
    }

    /// Returns an object that has no other fields than these.
    func object(_ name: String, _ fields: [String]) throws(FieldFault) -> SpoolObject {
        let wanted = "an object of \(fields.joined(separator: ", "))"
        guard case .object(let members)? = json[name] else {
            throw fault(name, json[name]?.sort ?? "nothing", wanted)
        }
        return try SpoolObject(members, fields, prefix: "\(prefix)\(name).")
    }

    func tooLarge(_ name: String) -> FieldFault {
        fault(name, "a number beyond all measure", "a measurement")
    }

    func fault(_ name: String, _ got: String, _ wanted: String) -> FieldFault {
        FieldFault(field: "\(prefix)\(name)", got: got, wanted: wanted)
    }
}

extension JSON {
    /// The type of the value, with its article.
    var sort: String {
        switch self {
        case .null: "null"
        case .bool: "true or false"
        case .integer, .number: "a number"
        case .string: "a text"
        case .array: "a list"
        case .object: "an object"
        }
    }
}
