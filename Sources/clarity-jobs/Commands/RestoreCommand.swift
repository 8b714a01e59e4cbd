import ClarityHost
import ClarityScheduler

/// `restore [BACKUP]`.
///
/// It runs in `clarity-jobs-worker`, which links the code that decrypts health data.
struct RestoreCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    func run() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        guard arguments.operands.count < 2 else {
            throw CommandFailure(
                .usage, "`restore` wants one backup at most, got \(arguments.operands.count)")
        }
        let file = try composition.jobFile()
        let state = composition.statePath(file)
        let form = try askingStore { () throws(RunStoreError) in try RunHistory.newestForm() }
        var words = ["restore", "--state", state, "--history-form", form]
        if let backend = file.settings["backend.url"] { words += ["--backend", backend] }
        if let name = arguments.operands.first {
            // A name without a slash is a backup of the state directory.
            words += [
                "--from",
                name.contains("/") ? composition.absolute(name) : "\(state)/backups/\(name)",
            ]
        }
        if let dialect = file.settings["backend.dialect"] { words += ["--dialect", dialect] }
        let uploads = file.jobs.filter { $0.kind.rawValue == "bulk-upload" }
        if let route = uploads.compactMap({ $0.options["route"] }).first {
            words += ["--route", route]
        }
        if uploads.contains(where: { $0.options["on_ambiguous"] == "hold" }) {
            words.append("--hold")
        }
        if arguments.has("dry-run") { words.append("--dry-run") }
        words += ["--output", composition.console.form.rawValue]
        try composition.become("clarity-jobs-worker", words, for: file)
    }
}
