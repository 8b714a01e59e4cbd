import HealthModel
import HealthStore
import JSON
import WebAPI

/// A question that an assistant may ask: a route of the API, under a name of its own.
struct AssistantTool {
    /// The most points of an answer, such as days or nights.
    static let mostPoints = 400

    let name: String
    private let summary: String
    private let route: APIRoute
    /// What the job file allows.
    private let allowed: Set<String>

    /// The tools that the job file allows.
    ///
    /// - Parameter allowed: the keys of `mcp` that are true.
    static func all(_ allowed: Set<String>) -> [AssistantTool] {
        let groups = !allowed.isDisjoint(with: MetricGroup.allCases.map(\.rawValue))
        let rows: [(name: String, path: String, summary: String, isAllowed: Bool)] = [
            ("days", "metrics/{type}", "The days of one type of metrics, such as steps", groups),
            ("nights", "nights", "Nights of sleep, each or by month", allowed.contains("sleep")),
            ("workouts", "workouts", "Workouts, each or by month", allowed.contains("workouts")),
            ("trends", "trends", "A month beside the twelve months before it", groups),
            (
                "insights", "insights", "Texts that the backend made of the data",
                allowed.contains("insights")
            ),
            ("jobs", "jobs", "The jobs, and what each waits for", allowed.contains("jobs")),
            ("why", "explain", "Why a job runs now or does not", allowed.contains("jobs")),
        ]
        return rows.compactMap { row in
            guard row.isAllowed, let route = APIRoute.all.first(where: { $0.path == row.path })
            else { return nil }
            return AssistantTool(
                name: row.name, summary: row.summary, route: route, allowed: allowed)
        }
    }

    /// The tool as the protocol describes it.
    var description: JSON {
        let properties = route.parameters.map { parameter in
            JSON.Member(
                name: parameter.name,
                value: [
                    "type": "string", "pattern": .string(parameter.value.pattern),
                    "description": .string("\(parameter.summary); \(parameter.value.summary)"),
                ])
        }
        let required = route.parameters.filter(\.isRequired).map { JSON.string($0.name) }
        return [
            "name": .string(name), "description": .string(summary),
            "inputSchema": [
                "type": "object", "properties": .object(properties), "required": .array(required),
                "additionalProperties": false,
            ],
            "annotations": ["readOnlyHint": true],
        ]
    }

    /// Returns the command that answers a question.
    ///
    /// - Throws: `APIFault` for arguments that are not allowed, missing or faulty.
    func words(_ arguments: JSON) throws(APIFault) -> [String] {
        guard case .object(let members) = arguments else {
            throw APIFault(text: "the arguments are no object")
        }
        var given: [(name: String, value: String)] = []
        for member in members where member.value != .null {
            guard let text = member.value.text ?? member.value.double.map({ "\(Int64($0))" }) else {
                throw APIFault(text: "`\(member.name)` is neither text nor a number")
            }
            given.append((member.name, text))
        }
        let variable = given.first { $0.name == route.variable }?.value ?? ""
        if name == "days" { try demandAllowed(variable) }
        return try route.words(variable, given.filter { $0.name != route.variable })
    }

    private func demandAllowed(_ type: String) throws(APIFault) {
        guard let group = AssistantTool.group(of: type), allowed.contains(group.rawValue) else {
            let known = MetricGroup.allCases.map(\.rawValue).filter(allowed.contains)
            throw APIFault(
                text:
                    "the job file does not allow `\(type)`; it allows \(known.joined(separator: ", "))"
            )
        }
    }

    private static func group(of type: String) -> MetricGroup? {
        MetricGroup.allCases.first { group in
            group.rawValue == type || group.measures.contains { $0.rawValue == type }
        }
    }

    // MARK: What an answer may hold

    /// Returns an answer with what is allowed, with at most `mostPoints` points, and with
    /// `incomplete` if something is left out.
    func bounded(_ answer: JSON) -> JSON {
        guard case .object(var members) = answer else {
            return bounded(["items": answer])
        }
        var leftOut = 0
        for index in members.indices {
            guard case .array(var rows) = members[index].value else { continue }
            if members[index].name == "trends" { rows = rows.filter(isAllowed) }
            switch members[index].name {
            case "measures":
                let most = AssistantTool.mostPoints / max(1, rows.count)
                rows = rows.map { AssistantTool.newest($0, most, &leftOut) }
            default:
                let most =
                    members[index].name == "trends"
                    ? AssistantTool.mostPoints / 13 : AssistantTool.mostPoints
                leftOut += max(0, rows.count - most)
                rows = rows.prefix(most).map(AssistantTool.withoutParts)
            }
            members[index].value = .array(rows)
        }
        if leftOut > 0 {
            members.append(
                JSON.Member(
                    name: "incomplete",
                    value: [
                        "left_out": .integer(Int64(leftOut)),
                        "advice": "the oldest are left out; ask for a shorter time, or by month",
                    ]))
        }
        return .object(members)
    }

    private func isAllowed(_ trend: JSON) -> Bool {
        let group = trend["measure"]?.text.flatMap { AssistantTool.group(of: $0) }
        return group.map { allowed.contains($0.rawValue) } ?? false
    }

    /// Returns a measure with its newest days.
    private static func newest(_ measure: JSON, _ most: Int, _ leftOut: inout Int) -> JSON {
        guard case .object(var members) = measure else { return measure }
        for index in members.indices where members[index].name == "days" {
            guard case .array(let days) = members[index].value else { continue }
            leftOut += max(0, days.count - most)
            members[index].value = .array(Array(days.suffix(most)))
        }
        return .object(members)
    }

    /// A night without the stages minute by minute.
    private static func withoutParts(_ row: JSON) -> JSON {
        guard case .object(let members) = row else { return row }
        return .object(members.filter { $0.name != "parts" })
    }
}
