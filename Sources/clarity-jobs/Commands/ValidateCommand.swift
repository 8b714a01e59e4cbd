import ClarityHost
import ClarityScheduler
import Platform
import JSON

/// `validate`: checks the job file, reports every fault in it, and warns of settings that can never
/// take effect.
struct ValidateCommand {
    private let composition: Composition
    private var console: Console { composition.console }

    init(_ composition: Composition) { self.composition = composition }

    func run() throws(CommandFailure) -> ExitStatus {
        let path = try composition.jobFilePath()
        do throws(JobFileFaults) {
            let file = try composition.jobFileReader.read(
                fileAt: path, warningAt: composition.clock.now)
            show(file, path)
            return .done
        } catch {
            guard console.form != .table else {
                throw CommandFailure(.faultyInput, text: error.description)
            }
            show(faults: error.faults, warnings: error.warnings)
            return .faultyInput
        }
    }

    private func show(_ file: JobFile, _ path: String) {
        guard console.form == .table else { return show(faults: [], warnings: file.warnings) }
        guard !console.isQuiet else { return }
        for warning in file.warnings {
            warning.text(path: path, isWarning: true).split(separator: "\n")
                .forEach { console.note(String($0)) }
        }
        var summary = "\(path): valid, \(counted(file.jobs.count, "jobs"))"
        if let accounts = file.accounts {
            summary += " for \(counted(accounts.count, "accounts"))"
        }
        if !file.warnings.isEmpty { summary += ", \(counted(file.warnings.count, "warnings"))" }
        console.show(summary)
        let implied = file.jobs.filter { !$0.impliedConstraints.isEmpty }.map(\.id.rawValue)
        if !implied.isEmpty {
            let names = implied.joined(separator: ", ")
            console.show("implied: `network: any` for \(names); `network: none` turns it off")
        }
    }

    /// Writes faults and warnings as JSON, sorted by file, line and column.
    private func show(faults: [JobFileFault], warnings: [JobFileFault]) {
        let findings = faults.map { ($0, "fault") } + warnings.map { ($0, "warning") }
        let sorted = findings.sorted { a, b in
            (a.0.file ?? "", a.0.line, a.0.column) < (b.0.file ?? "", b.0.line, b.0.column)
        }
        console.results(
            sorted.map { fault, severity in
                [
                    "severity": .string(severity), "file": .text(fault.file),
                    "line": fault.line == 0 ? .null : .integer(Int64(fault.line)),
                    "column": fault.line == 0 ? .null : .integer(Int64(fault.column)),
                    "path": .text(fault.path), "message": .string(fault.message),
                    "remedy": .text(fault.help),
                ]
            }, table: Table(heading: []))
    }
}
