import ClarityJobs
import ClarityScheduler
import ClarityWorkers

/// Shows the audit log, and checks it.
enum AuditMode {
    /// How many entries are read at once.
    private static let page = 500

    static func run(_ arguments: [String]) -> ExitStatus {
        guard let action = arguments.first,
            let flags = Flags(
                Array(arguments.dropFirst()), values: ["state", "output", "since"])
        else { return Program.usageError("expected `audit log` or `audit verify`") }
        do {
            switch action {
            case "log": return try log(flags)
            case "verify": return try verify(flags)
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

    /// `nil` where there is none: asking makes nothing.
    private static func store(_ flags: Flags) throws -> HealthStore? {
        let state = try flags.value("state")
        guard HealthStore.exists(in: state) else { return nil }
        return try HealthStore(stateDirectory: state, environment: keyEnvironment())
    }
}
