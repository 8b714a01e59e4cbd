import ClarityHost

/// `key rotate` and `key status`.
///
/// Both run in `clarity-jobs-worker`, which links the code that decrypts health data.
struct KeyCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    func rotate() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        let (path, variable) = (arguments["new-key-file"], arguments["new-key-variable"])
        guard path == nil || variable == nil else {
            throw CommandFailure(
                .usage, "`key rotate` wants --new-key-file or --new-key-variable, not both")
        }
        var words = ["key", "rotate"]
        if let path { words += ["--new-key-file", path] }
        if let variable { words += ["--new-key-variable", variable] }
        if composition.console.isVerbose { words.append("--verbose") }
        try become(words)
    }

    func status() throws(CommandFailure) -> ExitStatus { try become(["key", "status"]) }

    private func become(_ words: [String]) throws(CommandFailure) -> Never {
        let file = try composition.jobFile()
        let form = composition.console.form.rawValue
        try composition.become(
            "clarity-jobs-worker",
            words + ["--state", composition.statePath(file), "--output", form], for: file)
    }
}
