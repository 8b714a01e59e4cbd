import JSON

/// A value in a request, or its absence, and its location.
struct Node {
    var value: JSON?
    var location: Location
    /// The object that has, or should have, this member.
    var owner: JSON?

    /// Returns the node of a member; a member that is null counts as absent.
    subscript(name: String) -> Node {
        let member = value?[name]
        return Node(
            value: member == .null ? nil : member, location: location / name, owner: value)
    }

    var isAbsent: Bool { value == nil }
}

/// Validates values of a request and collects the faults.
///
/// Each method returns `nil` and records a fault if the value is invalid. An absent value is a
/// fault only if it is required.
struct Validation {
    /// The largest number of faults in an answer.
    static let mostFaults = 200

    private(set) var faults: [ValidationFault] = []
    /// The server's wall time; no date may be later.
    let now: Timestamp

    init(now: Timestamp) { self.now = now }

    /// Records a fault.
    mutating func fail(_ node: Node, _ message: String, _ type: String) {
        guard faults.count < Validation.mostFaults else { return }
        faults.append(ValidationFault(location: node.location, message: message, type: type))
    }

    /// Throws the answer that lists the faults, if there are any.
    func finish() throws(Refusal) {
        if !faults.isEmpty { throw Refusal(.unprocessable(faults)) }
    }

    private mutating func present(_ node: Node, _ isRequired: Bool) -> JSON? {
        if node.isAbsent, isRequired { fail(node, "field required", "missing") }
        return node.value
    }

    /// Returns text of `length` characters without control characters.
    ///
    /// With `isFree`, line breaks and tabs are allowed.
    mutating func text(
        _ node: Node, _ length: ClosedRange<Int> = 1...256, required: Bool = true,
        isFree: Bool = false
    ) -> String? {
        guard let value = present(node, required) else { return nil }
        guard case .string(let text) = value else {
            fail(node, "must be a string", "string_type")
            return nil
        }
        guard length.contains(text.unicodeScalars.count) else {
            let isShort = text.unicodeScalars.count < length.lowerBound
            fail(
                node, "must have \(length.lowerBound) to \(length.upperBound) characters",
                isShort ? "string_too_short" : "string_too_long")
            return nil
        }
        let allowed: Set<Unicode.Scalar> = isFree ? ["\n", "\r", "\t"] : []
        let hasControl = text.unicodeScalars.contains {
            $0.properties.generalCategory == .control && !allowed.contains($0)
        }
        guard !hasControl else {
            fail(node, "must not hold control characters", "string_control_character")
            return nil
        }
        return text
    }

    /// Returns a finite number in `range`.
    mutating func number(
        _ node: Node, _ range: ClosedRange<Double>, whole: Bool = false, required: Bool = true
    ) -> Double? {
        let number: Double
        switch present(node, required) {
        case nil: return nil
        case .integer(let value): number = Double(value)
        case .number(let value): number = value
        default:
            fail(node, "must be a number", whole ? "int_type" : "float_type")
            return nil
        }
        guard !whole || number.rounded() == number else {
            fail(node, "must be a whole number", "int_from_float")
            return nil
        }
        guard range.contains(number) else {
            let limit = number < range.lowerBound ? range.lowerBound : range.upperBound
            let word = number < range.lowerBound ? "greater" : "less"
            let shown = limit.rounded() == limit ? String(Int64(limit)) : String(limit)
            fail(node, "must be \(word) than or equal to \(shown)", "\(word)_than_equal")
            return nil
        }
        return number
    }

    /// Returns a boolean.
    mutating func flag(_ node: Node, required: Bool = true) -> Bool? {
        guard let value = present(node, required) else { return nil }
        guard case .bool(let flag) = value else {
            fail(node, "must be true or false", "bool_type")
            return nil
        }
        return flag
    }

    /// Returns one of `choices`.
    mutating func choice(_ node: Node, _ choices: [String], required: Bool = true) -> String? {
        guard let value = present(node, required) else { return nil }
        guard case .string(let text) = value, choices.contains(text) else {
            fail(node, "must be one of \(choices.joined(separator: ", "))", "enum")
            return nil
        }
        return text
    }

    /// Returns a UUID in lower case.
    mutating func uuid(_ node: Node) -> String? {
        guard let value = present(node, true) else { return nil }
        guard case .string(let text) = value, let uuid = UUIDText.canonical(text) else {
            fail(node, "must be a UUID", "uuid_parsing")
            return nil
        }
        return uuid
    }

    /// Returns an ISO 8601 date with a zone, which must not be in the future.
    mutating func past(_ node: Node, required: Bool = true) -> Timestamp? {
        guard let value = present(node, required) else { return nil }
        guard case .string(let text) = value, let time = Timestamp(iso8601: text) else {
            fail(node, "must be an ISO 8601 date with a zone", "datetime_parsing")
            return nil
        }
        guard time <= now else {
            fail(node, "must not be in the future", "datetime_past")
            return nil
        }
        return time
    }

    /// Returns an array of `count` elements.
    mutating func array(
        _ node: Node, _ count: ClosedRange<Int>, required: Bool = true
    ) -> [Node]? {
        guard let value = present(node, required) else { return nil }
        guard case .array(let values) = value else {
            fail(node, "must be an array", "list_type")
            return nil
        }
        guard count.contains(values.count) else {
            fail(
                node,
                "must have \(count.lowerBound) to \(count.upperBound) elements, has \(values.count)",
                values.count < count.lowerBound ? "too_short" : "too_long")
            return nil
        }
        return values.enumerated().map { Node(value: $1, location: node.location / $0) }
    }

    /// Returns an object.
    mutating func object(_ node: Node, required: Bool = true) -> [JSON.Member]? {
        guard let value = present(node, required) else { return nil }
        guard case .object(let members) = value else {
            fail(node, "must be an object", "dict_type")
            return nil
        }
        return members
    }
}
