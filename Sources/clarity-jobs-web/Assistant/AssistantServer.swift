import ClarityHost
import HealthModel
import JSON
import Platform
import WebAPI
@preconcurrency import Glibc

/// `clarity-jobs-web mcp`: a server of the Model Context Protocol (JSON-RPC 2.0, one message a line)
/// on standard input and output, for the assistant of whoever started it.
///
/// It only reads, and only what the job file allows. As the server of the pages does, it runs a
/// command for each question, so that every answer is checked, bounded and in the audit log.
struct AssistantServer {
    /// The revisions of the protocol that the server speaks, the newest first.
    private static let revisions = ["2025-06-18", "2025-03-26", "2024-11-05"]
    /// The most bytes of one message.
    private static let mostBytes = 1 << 20

    private let program: [String]
    private let environment: [String: String]
    private let tools: [AssistantTool]

    /// - Parameter words: those of the command line: `mcp PROGRAM JOBFILE STATE ALLOWED [ACCOUNT]`.
    init(_ words: [String]) {
        var program = [words[1], "--config=\(words[2])", "--state=\(words[3])"]
        if words.count > 5 { program.append("--account=\(words[5])") }
        self.program = program + ["--output=json"]
        var environment = Environment.all()
        environment["CLARITY_JOBS_ASSISTANT"] = "mcp"
        self.environment = environment
        let allowed = Set(words[4].split(separator: ",").map(String.init))
        tools = AssistantTool.all(allowed)
    }

    /// Answers messages until standard input ends.
    func run() -> ExitStatus {
        var waiting: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return .done }
            waiting += buffer[..<count]
            while let end = waiting.firstIndex(of: UInt8(ascii: "\n")) {
                let line = Array(waiting[..<end])
                waiting.removeSubrange(...end)
                guard let answer = line.isEmpty ? nil : answer(to: line) else { continue }
                guard write(answer.line + "\n") else { return .disk }
            }
            guard waiting.count <= AssistantServer.mostBytes else {
                complain("a message is longer than \(AssistantServer.mostBytes) bytes")
                return .usage
            }
        }
    }

    private func write(_ text: String) -> Bool {
        fputs(text, stdout)
        return fflush(stdout) == 0
    }

    /// Returns the answer to a message; `nil` for a notification, which gets none.
    private func answer(to line: [UInt8]) -> JSON? {
        let message: JSON
        do throws(JSONFault) {
            message = try JSONParser.parse(line, limit: AssistantServer.mostBytes)
        } catch {
            return AssistantServer.fault(.null, -32_700, "the message is not JSON: \(error.reason)")
        }
        let id = message["id"] ?? .null
        guard message["jsonrpc"]?.text == "2.0", let method = message["method"]?.text else {
            return AssistantServer.fault(id, -32_600, "the message is no request of JSON-RPC 2.0")
        }
        guard message["id"] != nil else { return nil }
        let parameters = message["params"] ?? .object([])
        switch method {
        case "initialize": return result(id, hello(parameters))
        case "ping": return result(id, .object([]))
        case "tools/list": return result(id, ["tools": .array(tools.map(\.description))])
        case "tools/call": return call(id, parameters)
        default:
            return AssistantServer.fault(id, -32_601, "no method `\(method.printable)`")
        }
    }

    private func hello(_ parameters: JSON) -> JSON {
        let asked = parameters["protocolVersion"]?.text ?? ""
        let revision =
            AssistantServer.revisions.first { $0 == asked } ?? AssistantServer.revisions[0]
        return [
            "protocolVersion": .string(revision), "capabilities": ["tools": .object([])],
            "serverInfo": ["name": "clarity-jobs", "version": .string(programVersion)],
            "instructions": """
            Health data of the person who started this server, and their jobs. Values are merged over \
            sources; each answer names its unit, its time zone and the age of its data. An answer with \
            `incomplete` leaves something out.
            """,
        ]
    }

    private func call(_ id: JSON, _ parameters: JSON) -> JSON {
        let name = parameters["name"]?.text ?? ""
        guard let tool = tools.first(where: { $0.name == name }) else {
            return AssistantServer.fault(id, -32_602, "no tool `\(name.printable)`")
        }
        let words: [String]
        do throws(APIFault) {
            words = try tool.words(parameters["arguments"] ?? .object([]))
        } catch {
            return result(id, AssistantServer.content(error.text, isError: true))
        }
        do throws(CapturedCommand.Fault) {
            let end = try CapturedCommand.run(
                program + words, environment: environment, within: .seconds(30), atMost: 32 << 20)
            guard let answer = AssistantServer.whole(end) else {
                let line = end.errors.split(separator: UInt8(ascii: "\n")).first.map {
                    String(decoding: $0, as: UTF8.self)
                }
                return result(
                    id,
                    AssistantServer.content(
                        line ?? "the command failed without a word", isError: true))
            }
            return result(id, AssistantServer.content(tool.bounded(answer).line, isError: false))
        } catch {
            return result(
                id, AssistantServer.content("the command could not be run in time", isError: true))
        }
    }

    /// Returns what a command wrote, if that is one JSON text.
    private static func whole(_ end: CapturedCommand.Result) -> JSON? {
        do throws(JSONFault) {
            return try JSONParser.parse(end.output)
        } catch {
            return nil
        }
    }

    private static func content(_ text: String, isError: Bool) -> JSON {
        [
            "content": .array([["type": "text", "text": .string(text)]]),
            "isError": .bool(isError),
        ]
    }

    private func result(_ id: JSON, _ result: JSON) -> JSON {
        ["jsonrpc": "2.0", "id": id, "result": result]
    }

    private static func fault(_ id: JSON, _ code: Int64, _ text: String) -> JSON {
        [
            "jsonrpc": "2.0", "id": id,
            "error": ["code": .integer(code), "message": .string(text)],
        ]
    }
}

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
