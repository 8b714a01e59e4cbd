import ClarityHost
import HealthStore
import Reports
import ClarityScheduler
import Platform

/// `audit log [--since SPAN]` and `audit log --verify`.
struct AuditLogCommand {
    /// The number of entries that are read at once.
    private static let page = 500

    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

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
