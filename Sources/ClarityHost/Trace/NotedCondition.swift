import ClarityScheduler
import JSON

/// A condition with its name, for values of any type.
protocol NotedCondition: Sendable {
    var name: String { get }

    func value(_ conditions: Conditions) -> JSON
    func source(_ conditions: Conditions) -> String
    /// The time at which the value was reported, if that was not when it was noted.
    func time(_ conditions: Conditions) -> Instant?
    func isSampled(_ conditions: Conditions) -> Bool

    /// Sets a fresh value.
    func set(
        _ value: JSON, source: String, _ conditions: inout Conditions
    ) throws(NotationFault)
    func setSource(_ source: String, _ conditions: inout Conditions)
    func setTime(_ time: Instant, _ conditions: inout Conditions)
    func setSampled(_ conditions: inout Conditions)
}

/// A condition whose value is of one type.
struct Noted<Value: Hashable & Sendable>: NotedCondition {
    var name: String
    var path: any WritableKeyPath<Conditions, Conditions.Reading<Value>> & Sendable
    var form: NotedForm<Value>

    func value(_ conditions: Conditions) -> JSON {
        conditions[keyPath: path].value.map(form.write) ?? .null
    }

    func source(_ conditions: Conditions) -> String { conditions[keyPath: path].source }

    func time(_ conditions: Conditions) -> Instant? { conditions[keyPath: path].at }

    func isSampled(_ conditions: Conditions) -> Bool { conditions[keyPath: path].isSampled }

    func set(
        _ value: JSON, source: String, _ conditions: inout Conditions
    ) throws(NotationFault) {
        if value == .null {
            conditions[keyPath: path] = .unknown(source)
        } else if let known = form.read(value) {
            conditions[keyPath: path] = Conditions.Reading(known, source: source)
        } else {
            throw .unexpected(name: name, got: value.line, wanted: "\(form.wanted) or null")
        }
    }

    func setSource(_ source: String, _ conditions: inout Conditions) {
        conditions[keyPath: path].source = source
    }

    func setTime(_ time: Instant, _ conditions: inout Conditions) {
        conditions[keyPath: path].at = time
    }

    func setSampled(_ conditions: inout Conditions) {
        conditions[keyPath: path].isSampled = true
    }
}

/// The way in which values of one type are written as JSON.
struct NotedForm<Value: Hashable & Sendable>: Sendable {
    /// The accepted values, for people.
    var wanted: String
    var write: @Sendable (Value) -> JSON
    /// Returns the value, or `nil` for JSON that does not hold one.
    var read: @Sendable (JSON) -> Value?
}

extension NotedForm<Bool> {
    static var bool: NotedForm {
        NotedForm(wanted: "true, false", write: { .bool($0) }) { value in
            if case .bool(let answer) = value { answer } else { nil }
        }
    }
}

extension NotedForm<Int> {
    static var percent: NotedForm {
        NotedForm(wanted: "a whole number of 0 to 100", write: { .count($0) }, read: wholePercent)
    }
}

extension NotedForm<Int64> {
    static var bytes: NotedForm {
        NotedForm(wanted: "a whole number of 0 or more", write: { .integer($0) }) { value in
            if case .integer(let bytes) = value, bytes >= 0 { bytes } else { nil }
        }
    }
}

extension NotedForm<Conditions.Battery> {
    static var battery: NotedForm {
        NotedForm(
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
