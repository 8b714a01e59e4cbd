public import ClarityScheduler
import JSON

/// The simulated outcomes of attempts: by job id, by `*` for all other jobs, and success for jobs
/// that neither covers.
public struct SimulatedOutcomes: Hashable, Sendable {
    private var ofJobs: [JobID: SimulatedAttempt] = [:]
    private var ofOthers = SimulatedAttempt()

    /// Creates outcomes in which every attempt succeeds.
    public init() {}

    /// The jobs whose outcomes are set by their id.
    public var jobs: Set<JobID> { Set(ofJobs.keys) }

    /// The simulated outcome of a job's attempts.
    public subscript(job: JobID) -> SimulatedAttempt { ofJobs[job] ?? ofOthers }
}

extension SimulatedOutcomes {
    /// Applies the `attempts` member of a trace's line.
    ///
    /// It is an object whose names are job ids or `*`. Each value is `"ok"`, `"retry"`, `"fail"`,
    /// `"login"`, `"source"`, `"stall"`, an object of `end`, `duration` and `events`, or null,
    /// which removes the earlier setting.
    mutating func read(_ attempts: JSON) throws(NotationFault) {
        let reader = NamedValue(value: attempts, name: "attempts")
        var seen: Set<String> = []
        for (name, value) in try reader.members() {
            guard seen.insert(name).inserted else { throw .twice(name: "\(reader.name).\(name)") }
            let course = value.value == .null ? nil : try SimulatedOutcomes.attempt(value)
            if name == "*" {
                ofOthers = course ?? SimulatedAttempt()
            } else if let job = JobID(name) {
                ofJobs[job] = course
            } else {
                throw .unexpected(name: reader.name, got: name, wanted: "a job's id or `*`")
            }
        }
    }

    private static func attempt(
        _ reader: NamedValue
    ) throws(NotationFault) -> SimulatedAttempt {
        guard case .object = reader.value else { return SimulatedAttempt(try end(reader)) }
        var attempt = SimulatedAttempt()
        for (name, value) in try reader.members() {
            switch name {
            case "end": attempt.end = try end(value)
            case "duration": attempt.duration = try duration(value)
            case "events":
                attempt.events = try events(value)
            default:
                throw .unknownName(name, among: ["end", "duration", "events"])
            }
        }
        return attempt
    }

    private static func events(_ reader: NamedValue) throws(NotationFault) -> Set<EventName> {
        var events: Set<EventName> = []
        for element in try reader.elements() {
            guard case .string(let text) = element.value else {
                throw element.unexpected("a string")
            }
            guard let name = EventName(rawValue: text) else {
                throw element.unexpected("an event's name")
            }
            events.insert(name)
        }
        return events
    }

    private static func end(_ reader: NamedValue) throws(NotationFault) -> SimulatedAttempt.End {
        guard case .string(let text) = reader.value, let end = SimulatedAttempt.End(rawValue: text)
        else {
            throw reader.unexpected("\"ok\", \"retry\", \"fail\", \"login\", \"source\", \"stall\"")
        }
        return end
    }

    private static func duration(_ reader: NamedValue) throws(NotationFault) -> Duration {
        guard case .string(let text) = reader.value, let span = Duration(text: text),
            span > .zero, span <= .seconds(366 * 86_400)
        else { throw reader.unexpected("a span such as \"30s\"") }
        return span
    }
}

/// A JSON value with the name that faults use for it.
private struct NamedValue {
    let value: JSON
    let name: String

    func members() throws(NotationFault) -> [(name: String, value: NamedValue)] {
        guard case .object(let members) = value else { throw unexpected("an object") }
        return members.map { ($0.name, NamedValue(value: $0.value, name: "\(name).\($0.name)")) }
    }

    func elements() throws(NotationFault) -> [NamedValue] {
        guard case .array(let values) = value else { throw unexpected("an array") }
        return values.enumerated().map { NamedValue(value: $1, name: "\(name)[\($0)]") }
    }

    func unexpected(_ wanted: String) -> NotationFault {
        .unexpected(name: name, got: value.line, wanted: wanted)
    }
}
