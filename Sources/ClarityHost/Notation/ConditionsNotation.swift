public import ClarityScheduler
public import JSON

/// Conditions as the members of a JSON object.
///
/// `{"connected":true,"metered":null,"roaming":false,"external_power":true,"battery":80,`
/// `"low_power":false,"idle":null,"storage_free_bytes":1073741824,"pressure_percent":3,`
/// `"sources":{"connected":"/proc/net/route","metered":"no network manager is asked"}}`
///
/// `null` is unknown; `battery` is a whole number of percent or `"absent"`. `sources` says by name
/// where an answer comes from, and for one that is unknown why it is.
public enum ConditionsNotation {
    /// The member that holds the sources.
    public static let sources = "sources"

    /// The names of the conditions, in the order in which they are written.
    public static let names = all.map(\.name)

    /// The members of conditions, `sources` the last of them.
    ///
    /// With `earlier`, those whose value has changed since, with their sources: none when only
    /// sources have changed.
    public static func members(
        _ conditions: Conditions, since earlier: Conditions? = nil
    ) -> [JSON.Member] {
        let changed = all.filter { condition in
            earlier.map { condition.value(conditions) != condition.value($0) } ?? true
        }
        guard !changed.isEmpty else { return [] }
        let sources = changed.map {
            JSON.Member(name: $0.name, value: .string($0.source(conditions)))
        }
        return changed.map { JSON.Member(name: $0.name, value: $0.value(conditions)) }
            + [JSON.Member(name: self.sources, value: .object(sources))]
    }

    /// The conditions that members change others to.
    ///
    /// What no member names stays as it is in `earlier`. A value without a source comes from
    /// `source`; a source without a value belongs to the value of `earlier`.
    ///
    /// - Throws: `NotationFault` for a name that is unknown or stands twice, and for a value of
    ///   another type or out of its range.
    public static func read(
        _ members: [JSON.Member], onto earlier: Conditions = Conditions(), source: String
    ) throws(NotationFault) -> Conditions {
        var conditions = earlier
        var seen: Set<String> = []
        for member in members {
            guard seen.insert(member.name).inserted else { throw .twice(name: member.name) }
            guard member.name != sources else { continue }
            try condition(member.name, in: names + [sources]).set(
                member.value, source: source, &conditions)
        }
        guard let given = members.first(where: { $0.name == sources })?.value else {
            return conditions
        }
        guard case .object(let places) = given else {
            throw .unexpected(name: sources, got: given.line, wanted: "an object")
        }
        var named: Set<String> = []
        for place in places {
            let name = "\(sources).\(place.name)"
            guard named.insert(place.name).inserted else { throw .twice(name: name) }
            let condition = try condition(place.name, in: names)
            guard case .string(let text) = place.value else {
                throw .unexpected(name: name, got: place.value.line, wanted: "a string")
            }
            condition.setSource(text, &conditions)
        }
        return conditions
    }

    private static func condition(
        _ name: String, in names: [String]
    ) throws(NotationFault) -> any NotedCondition {
        guard let found = all.first(where: { $0.name == name }) else {
            throw .unknownName(name, nearest: nearest(to: name, among: names))
        }
        return found
    }

    private static let all: [any NotedCondition] = [
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
