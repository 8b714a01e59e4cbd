import ClarityScheduler
import JSON

/// A condition with its name and its values as JSON, whatever their type.
struct NotedCondition: Sendable {
    let name: String
    /// The accepted values, for people.
    private let wanted: String
    /// Returns what is known of the condition; its value is `nil` while the answer is unknown.
    let reading: @Sendable (Conditions) -> Conditions.Reading<JSON>
    /// Sets the value; returns `false` for JSON that does not hold one.
    private let write: @Sendable (JSON, inout Conditions) -> Bool
    /// Sets everything but the value.
    private let writeFacts: @Sendable (Conditions.Reading<JSON>, inout Conditions) -> Void

    init<Value>(
        _ name: String,
        _ path: any WritableKeyPath<Conditions, Conditions.Reading<Value>> & Sendable,
        _ schema: NotedSchema<Value>
    ) {
        self.name = name
        wanted = schema.wanted
        reading = { conditions in
            let reading = conditions[keyPath: path]
            return Conditions.Reading(
                reading.value.map(schema.write), source: reading.source, at: reading.at,
                isSampled: reading.isSampled)
        }
        write = { value, conditions in
            let known = schema.read(value)
            guard known != nil || value == .null else { return false }
            conditions[keyPath: path].value = known
            return true
        }
        writeFacts = { reading, conditions in
            conditions[keyPath: path].source = reading.source
            conditions[keyPath: path].at = reading.at
            conditions[keyPath: path].isSampled = reading.isSampled
        }
    }

    /// Sets a fresh value; null means unknown.
    func set(
        _ value: JSON, source: String, _ conditions: inout Conditions
    ) throws(NotationFault) {
        guard write(value, &conditions) else {
            throw .unexpected(name: name, got: value.line, wanted: "\(wanted) or null")
        }
        writeFacts(Conditions.Reading(nil, source: source), &conditions)
    }

    /// Changes everything but the value.
    func update(
        _ conditions: inout Conditions, _ change: (inout Conditions.Reading<JSON>) -> Void
    ) {
        var reading = reading(conditions)
        change(&reading)
        writeFacts(reading, &conditions)
    }
}

/// The way in which values of one type are written as JSON.
struct NotedSchema<Value: Hashable & Sendable>: Sendable {
    /// The accepted values, for people.
    var wanted: String
    var write: @Sendable (Value) -> JSON
    /// Returns the value, or `nil` for JSON that does not hold one.
    var read: @Sendable (JSON) -> Value?
}

extension NotedSchema<Bool> {
    static var bool: NotedSchema {
        NotedSchema(wanted: "true, false", write: { .bool($0) }) { value in
            if case .bool(let answer) = value { answer } else { nil }
        }
    }
}

extension NotedSchema<Int> {
    static var percent: NotedSchema {
        NotedSchema(wanted: "a whole number of 0 to 100", write: { .count($0) }, read: wholePercent)
    }
}

extension NotedSchema<Int64> {
    static var bytes: NotedSchema {
        NotedSchema(wanted: "a whole number of 0 or more", write: { .integer($0) }) { value in
            if case .integer(let bytes) = value, bytes >= 0 { bytes } else { nil }
        }
    }
}

extension NotedSchema<Conditions.Battery> {
    static var battery: NotedSchema {
        NotedSchema(
            wanted: "a whole number of 0 to 100, \"absent\"",
            write: { battery in
                switch battery {
                case .absent: "absent"
                case .charge(let percent): .count(percent)
                }
            },
            read: { value in
                value == "absent" ? .absent : wholePercent(value).map { .charge(percent: $0) }
            })
    }
}

private func wholePercent(_ value: JSON) -> Int? {
    if case .integer(let percent) = value, (0...100).contains(percent) {
        Int(percent)
    } else {
        nil
    }
}
