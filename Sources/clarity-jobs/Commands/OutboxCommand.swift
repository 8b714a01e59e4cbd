import ClarityHost
import ClarityScheduler

/// `outbox` and its subcommands.
///
/// They run in `clarity-jobs-worker`, which links the code that decrypts health data.
struct OutboxCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    func sums() throws(CommandFailure) -> ExitStatus {
        let file = try composition.jobFile()
        let upload = file.jobs.first { $0.kind.rawValue == "bulk-upload" }
        var words = ["sums"]
        for (flag, value) in [
            ("backend", file.settings["backend.url"]),
            ("dialect", file.settings["backend.dialect"]),
            ("route", upload?.options["route"]), ("batch-size", upload?.options["batch_size"]),
        ] {
            if let value { words += ["--\(flag)", value] }
        }
        try become(words)
    }

    func list() throws(CommandFailure) -> ExitStatus {
        var words = ["list"] + (try filters())
        if let limit = composition.arguments["limit"] { words += ["--limit", limit] }
        if composition.console.isQuiet { words.append("--quiet") }
        try become(words)
    }

    func show() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        guard arguments.operands.count == 1, let id = arguments.operands.first, !id.isEmpty else {
            throw CommandFailure(
                .usage, "`outbox show` wants one sample, got \(arguments.operands.count)")
        }
        try become(["show", "--id", id] + (arguments.has("values") ? ["--values"] : []))
    }

    func retry() throws(CommandFailure) -> ExitStatus { try wish("retry") }

    func discard() throws(CommandFailure) -> ExitStatus { try wish("discard") }

    private func wish(_ name: String) throws(CommandFailure) -> Never {
        var words = [name] + (try filters())
        for flag in ["all", "yes"] where composition.arguments.has(flag) {
            words.append("--\(flag)")
        }
        try become(words)
    }

    private func filters() throws(CommandFailure) -> [String] {
        let arguments = composition.arguments
        var words: [String] = []
        for name in ["in-state", "type", "reason"] {
            if let value = arguments[name], !value.isEmpty { words += ["--\(name)", value] }
        }
        if let text = arguments["age"] {
            guard let span = Duration(text: text), span > .zero, span <= .seconds(36_600 * 86_400)
            else { throw CommandFailure(.usage, "--age is a span such as `30d`, got `\(text)`") }
            words += ["--before", (composition.clock.now - span).description]
        }
        return words
    }

    private func become(_ words: [String]) throws(CommandFailure) -> Never {
        let file = try composition.jobFile()
        try composition.become(
            "clarity-jobs-worker",
            ["outbox"] + words
                + [
                    "--state", composition.statePath(file), "--output",
                    composition.console.form.rawValue,
                ], for: file)
    }
}
