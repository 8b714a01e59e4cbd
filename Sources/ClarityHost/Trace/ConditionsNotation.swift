public import ClarityScheduler
import Platform
public import JSON

/// Converts conditions to and from the members of a JSON object.
///
/// `{"connected":true,"metered":null,"roaming":false,"external_power":true,"battery":80,`
/// `"low_power":false,"idle":null,"storage_free_bytes":1073741824,"pressure_percent":3,`
/// `"storage./mnt/nas":73400320,"checks.vpn-up":true,`
/// `"sources":{"connected":"rtnetlink","metered":"no network manager"},`
/// `"times":{"checks.vpn-up":"2026-11-20T06:00:00Z"},"sampled":["storage_free_bytes"]}`
///
/// `null` means unknown; `battery` is a whole percentage or `"absent"`. `storage.PATH` is the free
/// space at a path that the job file names, and `checks.NAME` is the answer of one of its checks.
/// Three members refer to conditions by name. `sources` says where a value comes from, or why it is
/// unknown. `times` says when a value was reported, unless that was just now. `sampled` lists the
/// conditions that change without an announcement.
public enum ConditionsNotation {
    /// The member that holds the sources.
    public static let sources = "sources"
    /// The member that holds the times.
    public static let times = "times"
    /// The member that holds the names of conditions that change without an announcement.
    public static let sampled = "sampled"

    private static let storage = "storage."
    private static let checks = "checks."

    /// The names of the conditions that every machine has, in the order in which they are written.
    public static let names = fixed.map(\.name)

    /// Returns the members for conditions, with their sources, and with times and sampled names if
    /// there are any.
    ///
    /// With `earlier`, returns only the conditions whose value has changed since; nothing if none
    /// has.
    public static func members(
        _ conditions: Conditions, since earlier: Conditions? = nil
    ) -> [JSON.Member] {
        let changed = all(of: conditions).filter { condition in
            let value = condition.reading(conditions).value
            return earlier.map { value != condition.reading($0).value } ?? true
        }
        guard !changed.isEmpty else { return [] }
        let readings = changed.map { (name: $0.name, reading: $0.reading(conditions)) }
        let sources = readings.map {
            JSON.Member(name: $0.name, value: .string($0.reading.source))
        }
        let times = readings.compactMap { name, reading in
            reading.at.map { JSON.Member(name: name, value: .text($0)) }
        }
        let sampled = readings.filter(\.reading.isSampled)
        var members = readings.map { JSON.Member(name: $0.name, value: $0.reading.value ?? .null) }
        members.append(JSON.Member(name: self.sources, value: .object(sources)))
        if !times.isEmpty { members.append(JSON.Member(name: self.times, value: .object(times))) }
        if !sampled.isEmpty {
            let names = sampled.map { JSON.string($0.name) }
            members.append(JSON.Member(name: self.sampled, value: .array(names)))
        }
        return members
    }

    /// Returns `earlier` with the changes that members describe.
    ///
    /// A condition that no member names stays as it is in `earlier`. A value without a source gets
    /// `source`; a source without a value applies to the value in `earlier`.
    ///
    /// - Throws: `NotationFault` for a name that is unknown or occurs twice, and for a value of the
    ///   wrong type or out of range.
    public static func read(
        _ members: [JSON.Member], onto earlier: Conditions = Conditions(), source: String
    ) throws(NotationFault) -> Conditions {
        var conditions = earlier
        var seen: Set<String> = []
        let others = [sources, times, sampled]
        for member in members {
            guard seen.insert(member.name).inserted else { throw .twice(name: member.name) }
            guard !others.contains(member.name) else { continue }
            try condition(member.name, in: names + others).set(
                member.value, source: source, &conditions)
        }
        for (condition, value) in try values(of: sources, members) {
            guard case .string(let text) = value else {
                throw .unexpected(
                    name: "\(sources).\(condition.name)", got: value.line, wanted: "a string")
            }
            condition.update(&conditions) { $0.source = text }
        }
        for (condition, value) in try values(of: times, members) {
            guard case .string(let text) = value, let instant = Instant(rfc3339: text) else {
                throw .unexpected(
                    name: "\(times).\(condition.name)", got: value.line,
                    wanted: "a time such as \"2026-11-20T06:00:00Z\"")
            }
            condition.update(&conditions) { $0.at = instant }
        }
        guard let given = members.first(where: { $0.name == sampled })?.value else {
            return conditions
        }
        guard case .array(let names) = given else {
            throw .unexpected(name: sampled, got: given.line, wanted: "an array")
        }
        for name in names {
            guard case .string(let text) = name else {
                throw .unexpected(name: sampled, got: name.line, wanted: "names of conditions")
            }
            try condition(text, in: self.names).update(&conditions) { $0.isSampled = true }
        }
        return conditions
    }

    /// Returns the values that a member holds by condition; each condition occurs once.
    private static func values(
        of name: String, _ members: [JSON.Member]
    ) throws(NotationFault) -> [(NotedCondition, JSON)] {
        guard let given = members.first(where: { $0.name == name })?.value else { return [] }
        guard case .object(let values) = given else {
            throw .unexpected(name: name, got: given.line, wanted: "an object")
        }
        var named: Set<String> = []
        return try values.map { member throws(NotationFault) in
            guard named.insert(member.name).inserted else {
                throw .twice(name: "\(name).\(member.name)")
            }
            return (try condition(member.name, in: names), member.value)
        }
    }

    private static func condition(
        _ name: String, in names: [String]
    ) throws(NotationFault) -> NotedCondition {
        if let found = (fixed + asked).first(where: { $0.name == name }) { return found }
        if name.hasPrefix(storage) {
            return self.storage(at: String(name.dropFirst(storage.count)))
        }
        if name.hasPrefix(checks) { return check(String(name.dropFirst(checks.count))) }
        throw .unknownName(name, among: names)
    }

    private static func all(of conditions: Conditions) -> [NotedCondition] {
        // Write these only if their value is known: most traces do not use them.
        fixed + asked.filter { $0.reading(conditions).value != nil }
            + conditions.storage.keys.sorted().map { storage(at: $0) }
            + conditions.checks.keys.sorted().map { check($0) }
    }

    private static func storage(at path: String) -> NotedCondition {
        NotedCondition(storage + path, \.[storageAt: path], .bytes)
    }

    private static func check(_ name: String) -> NotedCondition {
        NotedCondition(checks + name, \.[check: name], .bool)
    }

    private static let asked: [NotedCondition] = [
        NotedCondition("login", \.login, .bool),
        NotedCondition("source", \.source, .bool),
    ]

    /// The conditions that every machine has.
    static let fixed: [NotedCondition] = [
        NotedCondition("connected", \.connected, .bool),
        NotedCondition("metered", \.metered, .bool),
        NotedCondition("roaming", \.roaming, .bool),
        NotedCondition("external_power", \.externalPower, .bool),
        NotedCondition("battery", \.battery, .battery),
        NotedCondition("low_power", \.lowPower, .bool),
        NotedCondition("idle", \.idle, .bool),
        NotedCondition("storage_free_bytes", \.storageFreeBytes, .bytes),
        NotedCondition("pressure_percent", \.pressurePercent, .percent),
    ]
}

/// The reason that JSON is not valid notation for an engine's value.
public enum NotationFault: Error, Hashable, Sendable {
    /// The value is not an object.
    case noObject(got: String)
    /// A required member is missing.
    case missing(name: String)
    /// The same member occurs twice.
    case twice(name: String)
    /// No condition or member has this name; `among` are those that exist.
    case unknownName(String, among: [String])
    /// A member has the wrong type, or is out of range.
    case unexpected(name: String, got: String, wanted: String)
}

extension NotationFault: CustomStringConvertible {
    /// One line for people: ``battery` is `120`, wanted 0 to 100, "absent" or null``.
    public var description: String {
        switch self {
        case .noObject(let got): "got \(shown(got)), wanted an object"
        case .missing(let name): "\(shown(name)) is missing"
        case .twice(let name): "\(shown(name)) stands twice"
        case .unknownName(let name, let known):
            "unknown name \(shown(name))\(didYouMean(name, among: known))"
        case .unexpected(let name, let got, let wanted):
            "\(shown(name)) is \(shown(got)), wanted \(wanted)"
        }
    }
}

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
