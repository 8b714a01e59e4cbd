import ClarityHost
import ClarityScheduler

/// `backup` and `backup list`.
///
/// Both run in `clarity-jobs-worker`, which links the code that decrypts health data.
struct BackupCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    func make() throws(CommandFailure) -> ExitStatus {
        var words = ["make"]
        if let text = composition.arguments["keep"] {
            guard let keep = Int(text), (1...1000).contains(keep) else {
                throw CommandFailure(.usage, "--keep is a number from 1 to 1000, got `\(text)`")
            }
            words += ["--keep", text]
        }
        let file = try composition.jobFile()
        // Refuses to back up a history that this program cannot read.
        _ = try composition.history(file)
        let form = try askingStore { () throws(RunStoreError) in try RunHistory.newestForm() }
        words += ["--history-form", form]
        try become(words + (try folder()), file)
    }

    func list() throws(CommandFailure) -> ExitStatus {
        try become(["list"] + (try folder()), try composition.jobFile())
    }

    private func folder() throws(CommandFailure) -> [String] {
        let operands = composition.arguments.operands
        guard operands.count < 2 else {
            throw CommandFailure(.usage, "`backup` wants one folder at most, got \(operands.count)")
        }
        return operands.first.map { ["--in", composition.absolute($0)] } ?? []
    }

    private func become(_ words: [String], _ file: JobFile) throws(CommandFailure) -> Never {
        try composition.become(
            "clarity-jobs-worker",
            ["backup"] + words
                + [
                    "--state", composition.statePath(file), "--output",
                    composition.console.form.rawValue,
                ], for: file)
    }
}
