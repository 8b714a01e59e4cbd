import ClarityHost
import ClarityScheduler

/// `audit log [--since SPAN]` and `audit log --verify`.
///
/// Both run in `clarity-jobs-worker`, which links the code that decrypts the log.
struct AuditLogCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    func run() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        let isProof = arguments.has("verify")
        guard !isProof || arguments["since"] == nil else {
            throw CommandFailure(.usage, "--verify checks the whole log; it takes no --since")
        }
        var words = ["audit", isProof ? "verify" : "log"]
        if let text = arguments["since"] {
            words += ["--since", try since(text).description]
        }
        let file = try composition.jobFile()
        let form = composition.console.form.rawValue
        try composition.become(
            "clarity-jobs-worker",
            words + ["--state", composition.statePath(file), "--output", form], for: file)
    }

    private func since(_ text: String) throws(CommandFailure) -> Instant {
        guard let span = Duration(text: text), span > .zero, span <= .seconds(3660 * 86_400) else {
            throw CommandFailure(.usage, "--since is a span such as `7d`, got `\(text)`")
        }
        return composition.clock.now - span
    }
}
