import ClarityJobs
import ClarityScheduler
import ClarityWorkers

/// Shows the audit log, and verifies it and the outbox.
enum AuditMode {
    /// The number of entries that are read at once.
    private static let page = 500

    static func run(_ arguments: [String]) -> ExitStatus {
        guard let action = arguments.first,
            let flags = Flags(
                Array(arguments.dropFirst()), values: ["state", "output", "since", "found"],
                switches: ["offence", "quiet"])
        else { return Program.usageError("expected `audit log`, `audit verify` or `audit outbox`") }
        do {
            switch action {
            case "log": return try log(flags)
            case "verify": return try verify(flags)
            case "outbox": return try outbox(flags)
            default: return Program.usageError("unknown action `audit \(action)`")
            }
        } catch let error as Flags.Missing {
            return Program.usageError("`--\(error.name)` is missing")
        } catch {
            return ExitStatus(of: error)
        }
    }

    private static func log(_ flags: Flags) throws -> ExitStatus {
        var since: Instant?
        if let text = flags["since"] {
            guard let instant = Instant(rfc3339: text) else {
                return Program.usageError("`--since` is an instant such as 2026-11-20T06:00:00Z")
            }
            since = instant
        }
        let store = try store(flags)
        var last: Int64 = 0
        var isFirst = true
        while let store {
            let records = try store.auditRecords(after: last, since: since, limit: page)
            for record in records {
                switch flags.form {
                case .table: print(record.line)
                case .ndjson: print(record.json)
                case .json: print(isFirst ? "[" : ",", record.json, separator: "\n")
                }
                isFirst = false
            }
            guard let end = records.last?.number, records.count == page else { break }
            last = end
        }
        if flags.form == .json { print(isFirst ? "[]" : "]") }
        return .done
    }

    private static func verify(_ flags: Flags) throws -> ExitStatus {
        guard let store = try store(flags) else {
            complain("no health data is kept yet, so there is no audit log")
            return .configuration
        }
        let proof = try store.verifyAudit()
        print(flags.form == .table ? proof.line : proof.json)
        return proof.broken == nil ? .done : .failed
    }

    /// Verifies the outbox, after the program that became this one has verified the history.
    ///
    /// `--found` is the number of findings that it has written; as JSON, they are in a list that is
    /// still open. `--offence` says that one of them is an offence.
    private static func outbox(_ flags: Flags) throws -> ExitStatus {
        var isFirst = flags["found"].flatMap { Int($0) } ?? 0 == 0
        // A list that was begun is ended, whatever happens.
        defer { if flags.form == .json { print(isFirst ? "[]" : "]") } }
        guard let proof = try store(flags)?.proveOutbox() else {
            return flags.has("offence") ? .failed : .done
        }
        for finding in proof.findings {
            switch flags.form {
            case .table: print(finding.line)
            case .ndjson: print(finding.json)
            case .json: print(isFirst ? "[" : ",", finding.json, separator: "\n")
            }
            isFirst = false
        }
        if proof.findings.isEmpty, flags.form == .table, !flags.has("quiet") { print(proof.line) }
        return proof.findings.isEmpty && !flags.has("offence") ? .done : .failed
    }

    /// Opens the store; `nil` if there is none, because a query creates nothing.
    private static func store(_ flags: Flags) throws -> HealthStore? {
        let state = try flags.value("state")
        guard HealthStore.exists(in: state) else { return nil }
        return announced(try HealthStore(stateDirectory: state, environment: keyEnvironment()))
    }
}
