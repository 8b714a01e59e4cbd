import JSON

/// Validates values of a request as the deployed backend does, and collects the faults.
///
/// It is lenient: a number may be text, an integer may have a fraction of zero, unknown members are
/// ignored, and dates may be in the future. For an optional value, null counts as absent.
struct LaxValidation {
    /// The largest number of faults in an answer. The deployed backend has no limit.
    static let mostFaults = 5000

    private(set) var faults: [EchoedFault] = []

    /// Records a fault.
    mutating func fail(_ node: Node, _ message: String, _ type: String, _ context: JSON? = nil) {
        guard faults.count < LaxValidation.mostFaults else { return }
        faults.append(
            EchoedFault(
                location: node.location, message: message, type: type,
                input: node.value ?? node.owner ?? .null, context: context))
    }

    /// Throws the answer that lists the faults, if there are any.
    func finish() throws(Refusal) {
        if !faults.isEmpty { throw Refusal(.unprocessable(faults)) }
    }

    private mutating func present(_ node: Node, _ isRequired: Bool) -> JSON? {
        if node.isAbsent, isRequired { fail(node, "Field required", "missing") }
        return node.value
    }

    /// Returns text of `length` characters.
    mutating func text(
        _ node: Node, _ length: ClosedRange<Int> = 0...Int.max, required: Bool = true
    ) -> String? {
        guard let value = present(node, required) else { return nil }
        guard case .string(let text) = value else {
            fail(node, "Should be a string", "string_type")
            return nil
        }
        let count = text.unicodeScalars.count
        if count < length.lowerBound {
            fail(
                node, "Should have at least \(length.lowerBound) characters", "string_too_short",
                ["min_length": .count(length.lowerBound)])
            return nil
        }
        if count > length.upperBound {
            fail(
                node, "Should have at most \(length.upperBound) characters", "string_too_long",
                ["max_length": .count(length.upperBound)])
            return nil
        }
        return text
    }

    /// Returns a number, which must be in `range` if there is one.
    mutating func number(
        _ node: Node, _ range: ClosedRange<Double>? = nil, whole: Bool = false,
        required: Bool = true
    ) -> Double? {
        let number: Double
        switch present(node, required) {
        case nil: return nil
        case .integer(let value): number = Double(value)
        case .number(let value): number = value
        case .bool(let value): number = value ? 1 : 0
        case .string(let text):
            guard let value = Double(text.trimmingSpaces), value.isFinite else {
                fail(
                    node, "Should be a number, which this text is not",
                    whole ? "int_parsing" : "float_parsing")
                return nil
            }
            number = value
        default:
            fail(node, "Should be a number", whole ? "int_type" : "float_type")
            return nil
        }
        guard !whole || number.rounded() == number else {
            fail(node, "Should be a whole number", "int_from_float")
            return nil
        }
        guard let range, !range.contains(number) else { return number }
        let isLow = number < range.lowerBound
        let bound = isLow ? range.lowerBound : range.upperBound
        let shown: JSON = whole ? .integer(Int64(bound)) : .number(bound)
        fail(
            node, "Should be \(isLow ? "greater" : "less") than or equal to \(shown.line)",
            isLow ? "greater_than_equal" : "less_than_equal", [isLow ? "ge" : "le": shown])
        return nil
    }

    /// Returns a boolean, also given as 1, 0 or one of the usual words.
    mutating func flag(_ node: Node, required: Bool = true) -> Bool? {
        switch present(node, required) {
        case nil: return nil
        case .bool(let flag): return flag
        case .integer(1), .number(1): return true
        case .integer(0), .number(0): return false
        case .string(let text)
        where ["true", "yes", "on", "t", "y", "1"].contains(text.lowercased()): return true
        case .string(let text)
        where ["false", "no", "off", "f", "n", "0"].contains(text.lowercased()): return false
        default:
            fail(node, "Should be true or false", "bool_parsing")
            return nil
        }
    }

    /// Returns one of `choices`.
    mutating func choice(_ node: Node, _ choices: [String], required: Bool = true) -> String? {
        guard let value = present(node, required) else { return nil }
        guard case .string(let text) = value, choices.contains(text) else {
            let expected = choices.map { "'\($0)'" }.joined(separator: ", ")
            fail(node, "Should be one of \(expected)", "enum", ["expected": .string(expected)])
            return nil
        }
        return text
    }

    /// Returns a UUID in lower case.
    mutating func uuid(_ node: Node, required: Bool = true) -> String? {
        guard let value = present(node, required) else { return nil }
        guard case .string(let text) = value, let uuid = UUIDText.lax(text) else {
            fail(node, "Should be a UUID", "uuid_parsing")
            return nil
        }
        return uuid
    }

    /// Returns an instant.
    mutating func instant(_ node: Node, required: Bool = true) -> Timestamp? {
        let time: Timestamp?
        switch present(node, required) {
        case nil: return nil
        case .string(let text): time = Timestamp(lax: text)
        case .integer(let number): time = Timestamp(unix: Double(number))
        case .number(let number): time = Timestamp(unix: number)
        default: time = nil
        }
        if time == nil { fail(node, "Should be a date and time", "datetime_from_date_parsing") }
        return time
    }

    /// Returns an array of `count` elements.
    mutating func list(
        _ node: Node, _ count: ClosedRange<Int> = 0...Int.max, required: Bool = true
    ) -> [Node]? {
        guard let value = present(node, required) else { return nil }
        guard case .array(let values) = value else {
            fail(node, "Should be a list", "list_type")
            return nil
        }
        if values.count < count.lowerBound {
            fail(
                node, "Should have at least \(count.lowerBound) items, not \(values.count)",
                "too_short",
                [
                    "field_type": "List", "min_length": .count(count.lowerBound),
                    "actual_length": .count(values.count),
                ])
            return nil
        }
        if values.count > count.upperBound {
            fail(
                node, "Should have at most \(count.upperBound) items, not \(values.count)",
                "too_long",
                [
                    "field_type": "List", "max_length": .count(count.upperBound),
                    "actual_length": .count(values.count),
                ])
            return nil
        }
        return values.enumerated().map { Node(value: $1, location: node.location / $0) }
    }

    /// Returns an object; `type` is the type of the fault for any other value.
    mutating func object(
        _ node: Node, required: Bool = true, _ type: String = "dict_type"
    ) -> [JSON.Member]? {
        guard let value = present(node, required) else { return nil }
        guard case .object(let members) = value else {
            fail(node, "Should be an object", type)
            return nil
        }
        return members
    }

    /// Returns an email address in lower case.
    mutating func email(_ node: Node) -> String? {
        guard let value = text(node) else { return nil }
        let parts = value.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, value.utf8.count <= 254,
            !value.contains(where: \.isWhitespace), parts[1].contains("."),
            !parts[1].split(separator: ".", omittingEmptySubsequences: false).contains("")
        else {
            fail(
                node, "Should be an email address", "value_error",
                ["reason": "no email address"])
            return nil
        }
        return value.lowercased()
    }
}
