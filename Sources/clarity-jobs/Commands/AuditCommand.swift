import ClarityHost
import ClarityScheduler
import JSON

/// `audit`: proves the history, or says what is wrong in it.
struct AuditCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    func run() throws(CommandFailure) -> ExitStatus {
        let file = try composition.jobFile()
        let history = try composition.history(file)
        let jobs = composition.jobSet(file)
        let findings = try askingStore { () throws(RunStoreError) in try history.audit(jobs) }
        let offences = findings.filter(\.isOffence)
        let console = composition.console
        if console.form == .table {
            for finding in findings {
                let line = printable("\(finding.rule.rawValue): \(finding)")
                if finding.isOffence { console.result(line) } else { console.note(line) }
            }
            if offences.isEmpty, !console.isQuiet {
                console.result("the history is sound: no occurrence is missing or double")
            }
        } else {
            console.results(findings.map(object), table: Table(heading: []))
        }
        return offences.isEmpty ? .done : .failed
    }

    private func object(_ finding: AuditFinding) -> JSON {
        [
            "rule": .string(finding.rule.rawValue), "offence": .bool(finding.isOffence),
            "what": .string(finding.description),
        ]
    }
}
