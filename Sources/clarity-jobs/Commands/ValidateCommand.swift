import ClarityHost
import ClarityScheduler

/// `validate`: checks the job file and reports every fault in it.
struct ValidateCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    func run() throws(CommandFailure) -> ExitStatus {
        let path = try composition.jobFilePath()
        let file = try composition.jobFile()
        let count = file.jobs.count
        let console = composition.console
        guard !console.isQuiet else { return .done }
        console.result(printable("\(path): valid, \(count) \(count == 1 ? "job" : "jobs")"))
        let implied = file.jobs.filter { !$0.impliedConstraints.isEmpty }.map(\.id.rawValue)
        if !implied.isEmpty {
            let names = implied.joined(separator: ", ")
            console.result("implied: `network: any` for \(names); `network: none` turns it off")
        }
        return .done
    }
}
