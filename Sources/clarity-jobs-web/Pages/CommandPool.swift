import ClarityHost
import Platform
import WebAPI
import HTTPServing
import ClarityScheduler
import JSON

/// Runs commands of `clarity-jobs` for requests, a few at the same time and in turns (`WorkPool`).
///
/// The server holds no key and reads no database: every answer with data is the output of a
/// command, which is checked, logged and limited as at a terminal.
final class CommandPool: Sendable {
    /// How long a command may take, and how much it may write.
    static let limit = Duration.seconds(30)
    static let mostOutput = 32 << 20

    /// The program, the job file and the state directory.
    private let program: [String]
    private let environment: [String: String]
    /// Where the commands run, and whatever else blocks.
    let work = WorkPool()

    init(program: [String], environment: [String: String]) {
        (self.program, self.environment) = (program, environment)
    }

    /// Runs a command on a thread of its own and hands over its end; returns `false` if too many
    /// commands wait.
    ///
    /// - Parameters:
    ///   - asker: for whom it runs.
    ///   - session: the name of the session for the audit log.
    ///   - viewer: who is logged in; the command shows nothing that is another's.
    func run(
        _ words: [String], for asker: Asker, in session: String, viewer: APIViewer,
        then end:
            @escaping @Sendable (Result<CapturedCommand.Result, CapturedCommand.Fault>) -> Void
    ) -> Bool {
        var environment = environment
        environment["CLARITY_JOBS_PAGES_SESSION"] = session
        environment["CLARITY_JOBS_PAGES_VIEWER"] = viewer.name
        let (line, surroundings) = (program + ["--output=json"] + words, environment)
        return work.start(for: asker) {
            end(
                Result { () throws(CapturedCommand.Fault) in
                    try CapturedCommand.run(
                        line, environment: surroundings, within: CommandPool.limit,
                        atMost: CommandPool.mostOutput)
                })
        }
    }
}

/// Makes answers of how commands end.
enum CommandAnswer {
    typealias End = Result<CapturedCommand.Result, CapturedCommand.Fault>

    /// Returns the answer to a question: the command's JSON if that is whole, even if the command
    /// also found a fault.
    ///
    /// - Parameter namesOne: whether the path named one thing, which may not exist.
    static func toQuery(_ end: End, namesOne: Bool) -> Answer {
        switch end {
        case .failure(let fault): return answer(to: fault)
        case .success(let result):
            if isWhole(result) { return Answer(200, json: result.output) }
            let status: UInt32 =
                switch ExitStatus(rawValue: result.status) {
                case .usage: namesOne ? 404 : 400
                case .missingInput: 404
                case .failed where namesOne: 404
                default: 503
                }
            return PageServer.fault(status, line(of: result))
        }
    }

    /// Returns the answer to an action.
    static func toAction(_ end: End) -> Answer {
        switch end {
        case .failure(let fault): return answer(to: fault)
        case .success(let result):
            guard result.status != 0 else {
                if isWhole(result) { return Answer(200, json: result.output) }
                return Answer(200, ["status": 0, "message": .string(line(of: result))])
            }
            let line = JSON.string(line(of: result))
            return Answer(
                409,
                ["error": line, "status": .integer(Int64(result.status)), "message": line])
        }
    }

    /// Returns the result of a command; `nil` if it failed.
    static func result(of end: End) -> JSON? {
        guard case .success(let result) = end else { return nil }
        do throws(JSONFault) {
            return try JSONParser.parse(result.output)
        } catch {
            return nil
        }
    }

    /// Returns the fields of an action's body: an object of texts and whole numbers.
    static func fields(of body: [UInt8]) throws(APIFault) -> [(name: String, value: String)] {
        let value: JSON
        do throws(JSONFault) {
            value = try JSONParser.parse(body)
        } catch {
            throw APIFault(text: "the body is no JSON at byte \(error.offset): \(error.reason)")
        }
        guard case .object(let members) = value else {
            throw APIFault(text: "the body is no JSON object")
        }
        var fields: [(name: String, value: String)] = []
        for member in members {
            switch member.value {
            case .string(let text): fields.append((member.name, text))
            case .integer(let number): fields.append((member.name, "\(number)"))
            default: throw APIFault(text: "a field is neither a text nor a whole number")
            }
        }
        return fields
    }

    private static func answer(to fault: CapturedCommand.Fault) -> Answer {
        switch fault {
        case .timedOut:
            PageServer.fault(504, "the command took longer than \(CommandPool.limit.text)")
        case .tooLarge: PageServer.fault(400, "the answer is too long; ask for a shorter time")
        case .refused(let words): PageServer.fault(503, words.forReport)
        }
    }

    /// Whether a command gave its whole answer: it succeeded, or it found a fault and says so with
    /// `failed`, and its output is one JSON document. With every other status it could not go on,
    /// whatever it had written by then.
    private static func isWhole(_ result: CapturedCommand.Result) -> Bool {
        guard [.done, .failed].contains(ExitStatus(rawValue: result.status)) else { return false }
        do throws(JSONFault) {
            var parser = JSONParser(result.output)
            guard let first = parser.next, "{[".utf8.contains(first) else { return false }
            try parser.skip()
            try parser.end()
            return true
        } catch {
            return false
        }
    }

    /// Returns the first line of what a command said about its end.
    private static func line(of result: CapturedCommand.Result) -> String {
        let lines = String(decoding: result.errors, as: UTF8.self).split(separator: "\n")
        guard let first = lines.first else { return "the command ended with \(result.status)" }
        let name = "clarity-jobs: "
        return String(first.hasPrefix(name) ? first.dropFirst(name.count) : first).forReport
    }
}
