import ClarityHost
import HealthStore
import Reports
import ClarityScheduler
import Platform
import Glibc

/// `audit`: checks the history and the outbox, or reports what is wrong with them.
struct AuditCommand: ComposedCommand {
    let composition: Composition

    func run() throws(CommandFailure) -> ExitStatus {
        guard composition.arguments.has("all") else {
            let file = try composition.jobFile()
            let findings = try historyFindings(file)
            var rows = findings.map(AuditRow.init)
            // The list is written even if the outbox cannot be checked.
            defer { write(rows) }
            let isSound = show(findings)
            return try checkData(file, &rows) && isSound ? .done : .failed
        }
        return try EachAccount(composition).run(
            first: { common throws(CommandFailure) in
                let audit = AuditCommand(common)
                let findings = try audit.historyFindings(try common.jobFile())
                audit.write(findings.map(AuditRow.init))
                return audit.show(findings) ? .done : .failed
            },
            { own, _ throws(CommandFailure) in
                let audit = AuditCommand(own)
                var rows: [AuditRow] = []
                defer { audit.write(rows) }
                return try audit.checkData(try own.jobFile(), &rows) ? .done : .failed
            })
    }

    private func historyFindings(_ file: JobFile) throws(CommandFailure) -> [AuditFinding] {
        let history = try composition.history(file)
        let jobs = composition.jobSet(file)
        let own = composition.namedAccount
        return try askingStore { () throws(RunStoreError) in try history.audit(jobs) }
            .filter { own == nil || $0.account == nil || $0.account == own }
    }

    private func write(_ rows: [AuditRow]) {
        guard composition.console.form != .table else { return }
        composition.console.results(rows)
    }

    /// Shows people what was found in the history, and returns whether no rule is broken.
    private func show(_ findings: [AuditFinding]) -> Bool {
        let isSound = !findings.contains(where: \.isOffence)
        let console = composition.console
        guard console.form == .table else { return isSound }
        for finding in findings {
            let line = "\(finding.rule.rawValue): \(finding)".printable
            if finding.isOffence { console.show(line) } else { console.note(line) }
        }
        if isSound, !console.isQuiet {
            console.show("the history is sound: no occurrence is missing or double")
        }
        return isSound
    }

    /// Checks the outbox and the archive, adds what is wrong to `rows`, and returns whether
    /// nothing is.
    private func checkData(
        _ file: JobFile, _ rows: inout [AuditRow]
    ) throws(CommandFailure) -> Bool {
        let console = composition.console
        guard try hasOutbox(file), let store = try composition.healthStore(file, as: "audit") else {
            return true
        }
        let zone = try composition.dayZone(of: store, file)
        if composition.arguments.has("repair") { try repair(store, zone) }
        let proof = try usingHealthData { () throws(HealthStoreError) in try store.outbox.prove() }
        rows += proof.findings.map(AuditRow.init)
        if console.form == .table {
            proof.findings.forEach { console.show($0.line) }
            if proof.findings.isEmpty, !console.isQuiet {
                console.show(proof.line(hasBackend: try composition.hasBackend(file)))
            }
            if proof.contradictsCounts {
                console.note(
                    "help: somebody without the key changed the health data; restore a backup, or "
                        + "keep the data as it is with `clarity-jobs audit --repair`")
            }
        }
        let broken = try usingHealthData { () throws(HealthStoreError) in
            try store.audit.endBreak()
        }
        if let broken {
            rows.append(AuditRow(rule: "audit-log", message: broken.line))
            if console.form == .table {
                console.show("audit-log: \(broken.line)")
                console.note(
                    "help: if you have restored the database yourself, keep it as it is with "
                        + "`clarity-jobs audit --repair`")
            }
        }
        let archive = try usingHealthData { () throws(HealthStoreError) in
            try store.archive.prove(in: zone)
        }
        rows += archive.damaged.map { AuditRow(rule: "archive", message: $0) }
        if console.form == .table {
            archive.damaged.forEach { console.result("archive: \($0)".printable) }
            let isSound = archive.damaged.isEmpty && !proof.contradictsCounts
            if isSound, archive.records > 0, !console.isQuiet {
                console.result("the archive is sound: \(archive.records) records")
            }
        }
        return proof.findings.isEmpty && archive.damaged.isEmpty && broken == nil
    }

    private func repair(_ store: HealthStore, _ zone: Zone) throws(CommandFailure) {
        let (end, archive, totals, accepted) = try usingHealthData { () throws(HealthStoreError) in
            (
                try store.audit.acceptEnd(), try store.archive.repair(in: zone),
                try store.outbox.repairTotals(), try store.outbox.acceptRows()
            )
        }
        var lines = accepted.map { "taken as it is: \($0.what)" }
        if let end { lines.append("taken as it is: \(end.line)") }
        if archive.sums > 0 { lines.append("\(counted(archive.sums, "months")) added up anew") }
        if totals > 0 {
            lines.append("packed samples of \(counted(totals, "kinds")) counted anew")
        }
        if archive.reread > 0 {
            lines.append(
                "\(counted(archive.reread, "months")) with damaged records: the next reading stores "
                    + "again what the sources still have")
        }
        guard !composition.console.isQuiet else { return }
        for line in lines.isEmpty ? ["there is nothing to repair"] : lines {
            composition.console.note(line)
        }
    }

    private func hasOutbox(_ file: JobFile) throws(CommandFailure) -> Bool {
        if file.server != nil { return true }
        // A broken link or a missing file must be reported too.
        let path = try composition.healthPath(file)
        return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0
            || composition.isLost(path)
    }
}

/// A broken rule, or a remark.
struct AuditRow: Reported {
    let rule: String
    var isOffence = true
    let message: String

    init(rule: String, message: String) { (self.rule, self.message) = (rule, message) }

    init(_ finding: AuditFinding) {
        self.init(rule: finding.rule.rawValue, message: finding.description)
        isOffence = finding.isOffence
    }

    init(_ finding: OutboxFinding) {
        self.init(rule: "outbox-\(finding.rule.rawValue)", message: finding.what)
    }

    static let report = Report<AuditRow>([
        Column("rule", "name of the rule") { $0.rule },
        Column("offence", "whether the rule is broken; else it is a remark") { $0.isOffence },
        Column("message", "what was found") { $0.message },
    ])
}

/// `audit log [--since SPAN]` and `audit log --verify`.
struct AuditLogCommand: ComposedCommand {
    /// The number of entries that are read at once.
    private static let page = 500

    let composition: Composition

    func run() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        let isProof = arguments.has("verify")
        guard !isProof || arguments["since"] == nil else {
            throw CommandFailure(.usage, "--verify checks the whole log; it takes no --since")
        }
        let since = try arguments["since"].map { text throws(CommandFailure) in
            try self.since(text)
        }
        let file = try composition.jobFile()
        let store = try composition.healthStore(file, as: "audit log")
        if isProof { return try verify(store) }
        if let store { try list(store, since: since) } else { composition.console.list().end() }
        return .done
    }

    private func list(_ store: HealthStore, since: Instant?) throws(CommandFailure) {
        var list = composition.console.list()
        defer { list.end() }
        var last: Int64 = 0
        while true {
            let records = try usingHealthData { () throws(HealthStoreError) in
                try store.audit.records(after: last, since: since, limit: AuditLogCommand.page)
            }
            for record in records { list.add(record.line, record.object) }
            guard let end = records.last?.number, records.count == AuditLogCommand.page else {
                return
            }
            last = end
        }
    }

    private func verify(_ store: HealthStore?) throws(CommandFailure) -> ExitStatus {
        guard let store else {
            throw CommandFailure(
                .configuration, "no health data is kept yet, so there is no audit log")
        }
        let proof = try usingHealthData { () throws(HealthStoreError) in try store.audit.verify() }
        composition.console.results([proof.line], proof)
        return proof.broken == nil ? .done : .failed
    }

    private func since(_ text: String) throws(CommandFailure) -> Instant {
        guard let span = Duration(text: text), span > .zero, span <= .seconds(3660 * 86_400) else {
            throw CommandFailure(.usage, "--since is a span such as `7d`, got `\(text)`")
        }
        return composition.clock.now - span
    }
}
