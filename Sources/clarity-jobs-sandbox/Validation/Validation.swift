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
/// fault only if it is required, and null counts as absent.
///
/// The deployed backend is lax: a number may be text, an integer may have a fraction of zero, text
/// may have any length and characters, and dates may be in the future.
struct Validation {
    private(set) var faults: [RequestFault] = []
    /// The server's wall time, after which no date may be; `nil` to be lax.
    private let now: Timestamp?

    private var isLax: Bool { now == nil }
    private var must: String { isLax ? "Should" : "must" }
    /// The largest number of faults in an answer. The deployed backend has no limit.
    var mostFaults: Int { isLax ? 5000 : 200 }

    /// Creates a strict validation.
    init(now: Timestamp) { self.now = now }

    private init() { now = nil }

    /// Validates as the deployed backend does.
    static var lax: Validation { Validation() }

    /// Records a fault.
    mutating func fail(_ node: Node, _ message: String, _ type: String, _ context: JSON? = nil) {
        guard faults.count < mostFaults else { return }
        var fault = RequestFault(location: node.location, message: message, type: type)
        if isLax { fault.echo = (node.value ?? node.owner ?? .null, context) }
        faults.append(fault)
    }

    /// Throws the answer that lists the faults, if there are any.
    func finish() throws(Refusal) {
        if !faults.isEmpty { throw Refusal(.unprocessable(faults)) }
    }

    private mutating func present(_ node: Node, _ isRequired: Bool) -> JSON? {
        if node.isAbsent, isRequired {
            fail(node, isLax ? "Field required" : "field required", "missing")
        }
        return node.value
    }

    /// Returns `value`; records a fault if it is `nil`.
    private mutating func expect<Value>(
        _ value: Value?, _ node: Node, _ wanted: String, _ type: String, _ context: JSON? = nil
    ) -> Value? {
        if value == nil { fail(node, "\(must) \(wanted)", type, context) }
        return value
    }

    /// Returns text of `length` characters without control characters.
    ///
    /// With `isFree`, line breaks and tabs are allowed. Without `length`, it may have 1 to 256
    /// characters.
    mutating func text(
        _ node: Node, _ length: ClosedRange<Int>? = nil, required: Bool = true,
        isFree: Bool = false
    ) -> String? {
        guard let value = present(node, required),
            let text = expect(value.text, node, "be a string", "string_type")
        else { return nil }
        let length = length ?? (isLax ? 0...Int.max : 1...256)
        guard length.contains(text.unicodeScalars.count) else {
            let isShort = text.unicodeScalars.count < length.lowerBound
            let bound = isShort ? length.lowerBound : length.upperBound
            fail(
                node,
                isLax
                    ? "Should have at \(isShort ? "least" : "most") \(bound) characters"
                    : "must have \(length.lowerBound) to \(length.upperBound) characters",
                isShort ? "string_too_short" : "string_too_long",
                [isShort ? "min_length" : "max_length": .count(bound)])
            return nil
        }
        let allowed: Set<Unicode.Scalar> = isFree ? ["\n", "\r", "\t"] : []
        let hasControl = text.unicodeScalars.contains {
            $0.properties.generalCategory == .control && !allowed.contains($0)
        }
        return expect(
            hasControl && !isLax ? nil : text, node, "not hold control characters",
            "string_control_character")
    }

    /// Returns a number, which must be in `range` if there is one.
    mutating func number(
        _ node: Node, _ range: ClosedRange<Double>? = nil, whole: Bool = false,
        required: Bool = true
    ) -> Double? {
        guard let value = present(node, required) else { return nil }
        let found: Double?
        switch value {
        case .bool(let value) where isLax: found = value ? 1 : 0
        case .string(let text) where isLax:
            found = expect(
                Double(text.trimmingSpaces).flatMap { $0.isFinite ? $0 : nil }, node,
                "be a number, which this text is not", whole ? "int_parsing" : "float_parsing")
        default:
            found = expect(value.double, node, "be a number", whole ? "int_type" : "float_type")
        }
        guard let number = found else { return nil }
        guard !whole || number.rounded() == number else {
            return expect(nil, node, "be a whole number", "int_from_float")
        }
        guard let range, !range.contains(number) else { return number }
        let isLow = number < range.lowerBound
        let bound = isLow ? range.lowerBound : range.upperBound
        let isWhole = whole || (!isLax && bound.rounded() == bound)
        let shown: JSON = isWhole ? .integer(Int64(bound)) : .number(bound)
        let word = isLow ? "greater" : "less"
        return expect(
            nil, node, "be \(word) than or equal to \(shown.line)", "\(word)_than_equal",
            [isLow ? "ge" : "le": shown])
    }

    /// Returns a boolean; to be lax, also one given as 1, 0 or one of the usual words.
    mutating func flag(_ node: Node, required: Bool = true) -> Bool? {
        guard let value = present(node, required) else { return nil }
        let flag: Bool? =
            switch value {
            case .bool(let flag): flag
            case .integer(1) where isLax, .number(1) where isLax: true
            case .integer(0) where isLax, .number(0) where isLax: false
            case .string(let text)
            where isLax && ["true", "yes", "on", "t", "y", "1"].contains(text.lowercased()): true
            case .string(let text)
            where isLax && ["false", "no", "off", "f", "n", "0"].contains(text.lowercased()): false
            default: nil
            }
        return expect(flag, node, "be true or false", isLax ? "bool_parsing" : "bool_type")
    }

    /// Returns one of `choices`.
    mutating func choice(_ node: Node, _ choices: [String], required: Bool = true) -> String? {
        guard let value = present(node, required) else { return nil }
        let shown = choices.map { isLax ? "'\($0)'" : $0 }.joined(separator: ", ")
        return expect(
            value.text.flatMap { choices.contains($0) ? $0 : nil }, node, "be one of \(shown)",
            "enum", ["expected": .string(shown)])
    }

    /// Returns a UUID in lower case.
    mutating func uuid(_ node: Node, required: Bool = true) -> String? {
        guard let value = present(node, required) else { return nil }
        let uuid = value.text.flatMap(isLax ? UUIDText.lax : UUIDText.canonical)
        return expect(uuid, node, "be a UUID", "uuid_parsing")
    }

    /// Returns an instant: an ISO 8601 date with a zone that is not in the future; to be lax, any
    /// date, or the seconds since 1970.
    mutating func instant(_ node: Node, required: Bool = true) -> Timestamp? {
        guard let value = present(node, required) else { return nil }
        guard let now else {
            let time =
                value.text.flatMap { Timestamp(lax: $0) }
                ?? value.double.flatMap { Timestamp(unix: $0) }
            return expect(time, node, "be a date and time", "datetime_from_date_parsing")
        }
        let time = value.text.flatMap { Timestamp(iso8601: $0) }
        guard
            let time = expect(
                time, node, "be an ISO 8601 date with a zone", "datetime_parsing")
        else { return nil }
        return expect(time <= now ? time : nil, node, "not be in the future", "datetime_past")
    }

    /// Returns an array of `count` elements.
    mutating func list(
        _ node: Node, _ count: ClosedRange<Int> = 0...Int.max, required: Bool = true
    ) -> [Node]? {
        guard let value = present(node, required) else { return nil }
        guard case .array(let values) = value else {
            return expect(nil, node, isLax ? "be a list" : "be an array", "list_type")
        }
        guard count.contains(values.count) else {
            let isShort = values.count < count.lowerBound
            let bound = isShort ? count.lowerBound : count.upperBound
            fail(
                node,
                isLax
                    ? "Should have at \(isShort ? "least" : "most") \(bound) items, not \(values.count)"
                    : "must have \(count.lowerBound) to \(count.upperBound) elements, has "
                        + "\(values.count)",
                isShort ? "too_short" : "too_long",
                [
                    "field_type": "List", isShort ? "min_length" : "max_length": .count(bound),
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
            return expect(nil, node, "be an object", type)
        }
        return members
    }

    /// Returns an email address (text, `@` and a name with a dot) in lower case.
    mutating func email(_ node: Node) -> String? {
        guard let text = text(node, isLax ? nil : 3...254) else { return nil }
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        let names = parts.last?.split(separator: ".", omittingEmptySubsequences: false) ?? []
        let isEmail =
            parts.count == 2 && !parts[0].isEmpty && text.utf8.count <= 254
            && !text.contains(where: \.isWhitespace) && names.count > 1 && !names.contains("")
        return expect(
            isEmail ? text.lowercased() : nil, node, "be an email address", "value_error",
            ["reason": "no email address"])
    }
}
