import ClarityHost
import ClarityScheduler
import Glibc
import JSON

/// `audit`: checks the history and the outbox, or reports what is wrong with them.
///
/// `clarity-jobs-worker`, which links the code that decrypts health data, checks the outbox.
struct AuditCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    func run() throws(CommandFailure) -> ExitStatus {
        let file = try composition.jobFile()
        let history = try composition.history(file)
        let jobs = composition.jobSet(file)
        let findings = try askingStore { () throws(RunStoreError) in try history.audit(jobs) }
        let offences = findings.filter(\.isOffence)
        let hasOutbox = hasOutbox(file)
        let console = composition.console
        if console.form == .table {
            for finding in findings {
                let line = printable("\(finding.rule.rawValue): \(finding)")
                if finding.isOffence { console.result(line) } else { console.note(line) }
            }
            if offences.isEmpty, !console.isQuiet {
                console.result("the history is sound: no occurrence is missing or double")
            }
        } else if !hasOutbox {
            console.results(findings.map(object), table: Table(heading: []))
        } else {
            // The worker continues this list and closes it.
            for (place, finding) in findings.enumerated() {
                if console.form == .json { console.result(place == 0 ? "[" : ",") }
                console.result(object(finding).line)
            }
        }
        guard hasOutbox else { return offences.isEmpty ? .done : .failed }
        try proveOutbox(file, found: findings.count, isOffence: !offences.isEmpty)
    }

    private func hasOutbox(_ file: JobFile) -> Bool {
        // A broken link or a missing file must be reported too.
        let path = composition.healthPath(file)
        return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0
            || composition.isLost(path)
    }

    private func proveOutbox(
        _ file: JobFile, found: Int, isOffence: Bool
    ) throws(CommandFailure) -> Never {
        let console = composition.console
        try composition.become(
            "clarity-jobs-worker",
            [
                "audit", "outbox", "--state", composition.statePath(file), "--found", "\(found)",
                "--output", console.form.rawValue,
            ] + (isOffence ? ["--offence"] : []) + (console.isQuiet ? ["--quiet"] : []),
            for: file)
    }

    private func object(_ finding: AuditFinding) -> JSON {
        [
            "rule": .string(finding.rule.rawValue), "offence": .bool(finding.isOffence),
            "what": .string(finding.description),
        ]
    }
}
