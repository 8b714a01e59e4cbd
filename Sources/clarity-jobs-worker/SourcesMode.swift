import ClaritySources
import ClarityJobs
import ClarityScheduler
import ClaritySystem
import ClarityWorkers

/// Shows the status of a job file's sources; they are in the order on the standard input.
enum SourcesMode {
    static func run(_ arguments: [String]) -> ExitStatus {
        guard let flags = Flags(arguments, values: ["output"]) else {
            return Program.usageError("expected `sources` with an order")
        }
        guard let order = OrderInput.read() else { return .faultyInput }
        do {
            let environment = keyEnvironment(named: order.options["key.variable"])
            let state = order.options["state.directory"] ?? ""
            // A query creates nothing.
            let store =
                HealthStore.exists(in: state)
                ? announced(try HealthStore(stateDirectory: state, environment: environment)) : nil
            let statuses = try SourceStatus.all(
                order, store: store, now: SystemClock().now,
                zones: SourceZones(environment: environment))
            switch flags.form {
            case .table: SourceStatus.lines(statuses).forEach { print($0) }
            case .json: print(SourceStatus.json(statuses, isPage: true))
            case .ndjson:
                if !statuses.isEmpty { print(SourceStatus.json(statuses, isPage: false)) }
            }
            return .done
        } catch {
            return ExitStatus(of: error)
        }
    }
}
