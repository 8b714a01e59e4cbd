import ClarityJobs
import ClarityScheduler
import ClaritySystem
import ClarityWorkers

/// Shows which freshness goals hold; goals and jobs are in the order on the standard input.
enum StatusMode {
    /// Returns `failed` if a goal is missed or a job is overdue.
    static func run(_ arguments: [String]) -> ExitStatus {
        guard let flags = Flags(arguments, values: ["output"], switches: ["quiet"]) else {
            return Program.usageError("expected `status` with an order")
        }
        guard let order = OrderInput.read() else { return .faultyInput }
        do {
            let environment = keyEnvironment(named: order.options["key.variable"])
            let state = order.options["state.directory"] ?? ""
            // A query creates nothing.
            let store =
                HealthStore.exists(in: state)
                ? announced(try HealthStore(stateDirectory: state, environment: environment)) : nil
            let report = try StatusReport(order, store: store)
            let missedOnly = flags.has("quiet")
            switch flags.form {
            case .table: report.lines(missedOnly: missedOnly).forEach { print($0) }
            case .json: print(report.page(missedOnly: missedOnly))
            case .ndjson: report.objectLines(missedOnly: missedOnly).forEach { print($0) }
            }
            return report.holds ? .done : .failed
        } catch {
            return ExitStatus(of: error)
        }
    }
}
