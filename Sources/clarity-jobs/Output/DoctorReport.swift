import Reports
import ClarityScheduler
import JSON

/// The output of `doctor`: a machine's conditions, and what is missing to know more.
struct DoctorReport {
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
        let more = values.compactMap { value in
            remedies[value.name].map { "to know more: \(value.name): \($0)" }
        }
        let heard = subscriptions.filter { $0.fault == nil }.map(\.subject)
        let unheard = subscriptions.compactMap { subscription in
            subscription.fault.map { "not heard: \(subscription.subject): \($0)" }
        }
        return Condition.report.table(conditionRows).lines(in: style) + more
            + (heard.isEmpty ? [] : ["heard at once: \(heard.joined(separator: ", "))"]) + unheard
    }

    /// Returns the value in the words of the constraint that depends on it.
    private func words(_ value: JSON.Member) -> String {
        let constraint =
            Constraint.ofMachine.first { $0.facts.condition == value.name } ?? named(value.name)
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

    private var conditionRows: [Condition] {
        values.map { value in
            Condition(
                name: value.name, value: value.value, words: words(value),
                source: source(of: value.name), reportedAt: time(of: value.name), now: now,
                remedy: remedies[value.name])
        }
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

extension DoctorReport: Reported {
    static let report = Report<DoctorReport>([
        Column("at", "when the conditions were measured") { $0.now },
        Column("conditions", "the conditions of the machine") { $0.conditionRows },
        Column("heard", "the changes of which clarity-jobs is notified") {
            $0.subscriptions.map(Subscription.init)
        },
    ])

    /// A condition of the machine.
    struct Condition: Reported {
        let name: String
        let value: JSON
        let words: String
        let source: String
        /// `nil` for a condition that was just measured.
        let reportedAt: Instant?
        let now: Instant
        let remedy: String?

        static let report = Report<Condition>([
            Column("name", "name of the condition") { $0.name }.shown("CONDITION"),
            Column("value", "the value: boolean, integer or text; null if unknown") { $0.value },
            Column("words", "the value in words") { $0.words }.shown("NOW"),
            Column("source", "where it comes from, or why it is unknown") { $0.source }
                .shown("SOURCE"),
            Column("at", "when it was reported") { $0.reportedAt ?? $0.now }
                .shown("TOLD") { $0.reportedAt?.shown ?? "just now" },
            Column("to_know_more", "what would make it known") { $0.remedy },
        ])
    }

    /// A kind of change of which this process is notified, or why it is not.
    struct Subscription: Reported {
        let subject: String
        let fault: String?

        static let report = Report<Subscription>([
            Column("subject", "kind of change") { $0.subject },
            Column("fault", "why clarity-jobs is not notified of it") { $0.fault },
        ])
    }
}
