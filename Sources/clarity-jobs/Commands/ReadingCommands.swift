import ClarityHost
import ClarityScheduler

/// `metrics`, `insights`, `profile`, `summary` and `archive`.
///
/// They run in `clarity-jobs-worker`, which links the code that decrypts health data. None of them
/// sends a request to the backend.
struct ReadingCommands {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    private var arguments: Arguments { composition.arguments }

    func metrics() throws(CommandFailure) -> ExitStatus {
        let name = try operand("metrics", "type")
        var words: [String] = []
        if let text = arguments["since"] {
            guard ReadingCommands.isDate(text) || Duration(text: text).map({ $0 > .zero }) ?? false
            else {
                throw CommandFailure(
                    .usage,
                    "--since is a span such as `30d` or a date such as `2026-01-31`, got `\(text)`")
            }
            guard name != nil else {
                throw CommandFailure(.usage, "--since wants a type: `metrics heart_rate`")
            }
            words = ["--since", text]
        }
        if let name {
            guard ReadableNames.all.contains(name) else {
                let suggestion = closest(to: name, among: ReadableNames.all).map {
                    "; did you mean `\($0)`?"
                }
                throw CommandFailure(.usage, "no type `\(name)` of metrics\(suggestion ?? "")")
            }
            words += ["--name", name]
        }
        try become("metrics", words)
    }

    func insights() throws(CommandFailure) -> ExitStatus {
        let id = try operand("insights", "id")
        try become("insights", id.map { ["--name", $0] } ?? [])
    }

    func profile() throws(CommandFailure) -> ExitStatus { try become("profile", []) }

    func summary() throws(CommandFailure) -> ExitStatus { try become("summary", []) }

    func archiveList() throws(CommandFailure) -> ExitStatus {
        var words: [String] = []
        if let type = arguments["type"] { words += ["--type", type] }
        if let text = arguments["since"] {
            guard let span = Duration(text: text), span > .zero else {
                throw CommandFailure(.usage, "--since is a span such as `7d`, got `\(text)`")
            }
            words += ["--since", (composition.clock.now - span).description]
        }
        try become("archive", words)
    }

    func archiveShow() throws(CommandFailure) -> ExitStatus {
        guard arguments.operands.count == 1, let number = Int64(arguments.operands[0]), number > 0
        else {
            throw CommandFailure(
                .usage, "`archive show` wants the number of one version, as `archive list` has it")
        }
        try become("archive", ["--name", "\(number)"])
    }

    /// Returns the only operand; `nil` if there is none or it is empty.
    private func operand(
        _ command: String, _ what: String
    ) throws(CommandFailure) -> String? {
        guard arguments.operands.count < 2 else {
            throw CommandFailure(
                .usage, "`\(command)` wants one \(what) at most, got \(arguments.operands.count)")
        }
        return arguments.operands.first.flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func isDate(_ text: String) -> Bool {
        text.utf8.count == 10 && Instant(rfc3339: "\(text)T00:00:00Z") != nil
    }

    private func become(
        _ part: String, _ words: [String]
    ) throws(CommandFailure) -> Never {
        let file = try composition.jobFile()
        var words = ["read", part, "--state", composition.statePath(file)] + words
        if let text = arguments["now"] {
            // A date is in the time zone of the sources, which only the worker knows. It is passed
            // on as it is.
            let isDate = ReadingCommands.isDate(text)
            words += ["--now", isDate ? text : composition.clock.now.description]
        }
        if let zone = SourceCommands.timeZone(in: file) { words += ["--time-zone", zone] }
        words += ["--output", arguments["output"] ?? "table"]
        try composition.become("clarity-jobs-worker", words, for: file)
    }
}
