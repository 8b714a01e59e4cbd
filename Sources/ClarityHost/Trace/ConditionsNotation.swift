public import ClarityScheduler
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
            earlier.map { condition.value(conditions) != condition.value($0) } ?? true
        }
        guard !changed.isEmpty else { return [] }
        let sources = changed.map {
            JSON.Member(name: $0.name, value: .string($0.source(conditions)))
        }
        let times = changed.compactMap { condition in
            condition.time(conditions).map { JSON.Member(name: condition.name, value: .text($0)) }
        }
        let sampled = changed.filter { $0.isSampled(conditions) }
        var members = changed.map { JSON.Member(name: $0.name, value: $0.value(conditions)) }
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
        for (condition, value) in try places(sources, members) {
            guard case .string(let text) = value else {
                throw .unexpected(
                    name: "\(sources).\(condition.name)", got: value.line, wanted: "a string")
            }
            condition.setSource(text, &conditions)
        }
        for (condition, value) in try places(times, members) {
            guard case .string(let text) = value, let instant = Instant(rfc3339: text) else {
                throw .unexpected(
                    name: "\(times).\(condition.name)", got: value.line,
                    wanted: "a time such as \"2026-11-20T06:00:00Z\"")
            }
            condition.setTime(instant, &conditions)
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
            try condition(text, in: self.names).setSampled(&conditions)
        }
        return conditions
    }

    /// Returns the values that a member holds by condition; each condition occurs once.
    private static func places(
        _ name: String, _ members: [JSON.Member]
    ) throws(NotationFault) -> [(any NotedCondition, JSON)] {
        guard let given = members.first(where: { $0.name == name })?.value else { return [] }
        guard case .object(let places) = given else {
            throw .unexpected(name: name, got: given.line, wanted: "an object")
        }
        var named: Set<String> = []
        return try places.map { place throws(NotationFault) in
            guard named.insert(place.name).inserted else {
                throw .twice(name: "\(name).\(place.name)")
            }
            return (try condition(place.name, in: names), place.value)
        }
    }

    private static func condition(
        _ name: String, in names: [String]
    ) throws(NotationFault) -> any NotedCondition {
        if let found = (fixed + asked).first(where: { $0.name == name }) { return found }
        if name.hasPrefix(storage) {
            return self.storage(at: String(name.dropFirst(storage.count)))
        }
        if name.hasPrefix(checks) { return check(String(name.dropFirst(checks.count))) }
        throw .unknownName(name, nearest: nearest(to: name, among: names))
    }

    private static func all(of conditions: Conditions) -> [any NotedCondition] {
        // Write these only if their value is known: most traces do not use them.
        fixed + asked.filter { $0.value(conditions) != .null }
            + conditions.storage.keys.sorted().map { storage(at: $0) }
            + conditions.checks.keys.sorted().map { check($0) }
    }

    private static func storage(at path: String) -> any NotedCondition {
        Noted(
            name: storage + path, path: \.[storageAt: path],
            form: .bytes)
    }

    private static func check(_ name: String) -> any NotedCondition {
        Noted(
            name: checks + name, path: \.[check: name], form: .bool)
    }

    private static let asked: [any NotedCondition] = [
        Noted(name: "login", path: \.login, form: .bool),
        Noted(name: "source", path: \.source, form: .bool),
    ]

    private static let fixed: [any NotedCondition] = [
        Noted(name: "connected", path: \.connected, form: .bool),
        Noted(name: "metered", path: \.metered, form: .bool),
        Noted(name: "roaming", path: \.roaming, form: .bool),
        Noted(name: "external_power", path: \.externalPower, form: .bool),
        Noted(name: "battery", path: \.battery, form: .battery),
        Noted(name: "low_power", path: \.lowPower, form: .bool),
        Noted(name: "idle", path: \.idle, form: .bool),
        Noted(name: "storage_free_bytes", path: \.storageFreeBytes, form: .bytes),
        Noted(name: "pressure_percent", path: \.pressurePercent, form: .percent),
    ]
}
