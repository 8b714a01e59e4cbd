import ClarityHost
import HealthModel
import HealthStore
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
