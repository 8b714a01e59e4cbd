import Reports
import ClarityScheduler
import JSON

/// The output of `doctor`: a machine's conditions, and what is missing to know more.
struct DoctorText {
    let conditions: Conditions
    /// The conditions in the notation of a trace: values by name, with their sources and times.
    let members: [JSON.Member]
    /// What is missing to know more, by the condition's name.
    let remedies: [String: String]
    /// The changes that this process is notified of; `fault` says why it is not notified of one.
    let subscriptions: [(subject: String, fault: String?)]
    let now: Instant
    /// The terminal that the table has to fit, if there is one.
    var style: PageStyle?

    // MARK: For people

    var lines: [String] {
        let table = Table(
            heading: ["CONDITION", "NOW", "SOURCE", "TOLD"],
            rows: values.map { [$0.name, words($0), source(of: $0.name), told($0.name)] })
        let more = values.compactMap { value in
            remedies[value.name].map { "to know more: \(value.name): \($0)" }
        }
        let heard = subscriptions.filter { $0.fault == nil }.map(\.subject)
        let unheard = subscriptions.compactMap { subscription in
            subscription.fault.map { "not heard: \(subscription.subject): \($0)" }
        }
        return table.lines(in: style) + more
            + (heard.isEmpty ? [] : ["heard at once: \(heard.joined(separator: ", "))"]) + unheard
    }

    /// Returns the value in the words of the constraint that depends on it.
    private func words(_ value: JSON.Member) -> String {
        let constraint: Constraint? =
            switch value.name {
            case "connected": .connected
            case "metered": .unmetered
            case "roaming": .notRoaming
            case "external_power": .externalPower
            case "battery": .batteryAbove(percent: 0)
            case "low_power": .notLowPower
            case "idle": .idle
            case "storage_free_bytes": .storageFree(bytes: 0)
            case "pressure_percent": .pressureBelow(percent: 100)
            default: named(value.name)
            }
        return constraint?.verdict(in: conditions, at: now).measured ?? value.value.line
    }

    /// Returns the constraint for a name from the job file, such as `storage./mnt/nas` or
    /// `checks.vpn`.
    private func named(_ name: String) -> Constraint? {
        let parts = name.split(separator: ".", maxSplits: 1)
        guard parts.count == 2 else { return nil }
        return parts[0] == "storage"
            ? .storageFree(bytes: 0, path: String(parts[1]))
            : .check(Check(name: String(parts[1])))
    }

    private func told(_ name: String) -> String {
        time(of: name).map(RunText.seconds) ?? "just now"
    }

    // MARK: As JSON

    var object: JSON {
        [
            "at": .text(now),
            "conditions": .array(
                values.map { value in
                    [
                        "name": .string(value.name), "value": value.value,
                        "words": .string(words(value)), "source": .string(source(of: value.name)),
                        "at": .text(time(of: value.name) ?? now),
                        "to_know_more": .text(remedies[value.name]),
                    ]
                }),
            "heard": .array(
                subscriptions.map { ["subject": .string($0.subject), "fault": .text($0.fault)] }),
        ]
    }

    // MARK: The content of the members

    private var values: [JSON.Member] {
        members.filter { !["sources", "times", "sampled"].contains($0.name) }
    }

    private func source(of name: String) -> String {
        guard case .string(let text)? = place(name, in: "sources") else { return "" }
        return text
    }

    private func time(of name: String) -> Instant? {
        guard case .string(let text)? = place(name, in: "times") else { return nil }
        return Instant(rfc3339: text)
    }

    private func place(_ name: String, in member: String) -> JSON? {
        guard case .object(let places)? = members.first(where: { $0.name == member })?.value else {
            return nil
        }
        return places.first { $0.name == name }?.value
    }
}
