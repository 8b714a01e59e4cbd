import HealthStore
import ClarityScheduler
import Platform
import Backend
import ClarityJobs
import Reports
import JSON

/// Shows whether the backend answers, what it allows, and who is logged in. Changes nothing: it
/// works on a copy of the health data.
enum BackendMode {
    static func run(_ arguments: [String]) async -> ExitStatus {
        guard let flags = Flags(arguments, values: ["output"]) else {
            return Program.usageError("expected `backend` with an order")
        }
        guard let order = OrderInput.read() else { return .faultyInput }
        do {
            let sections = order.sections
            let backend = try sections.neededBackend
            let environment = try keyEnvironment(for: order)
            let state = try sections.state.directory
            let check = try await BackendCheck(
                backend, try HealthStore.rehearsal(of: state, environment: environment),
                try CurlTransport(version: programVersion, trust: backend.trust()),
                // Before anything was stored there is nobody to share the limits with, and a check
                // must not create the state directory.
                limits: HealthStore.exists(in: state, environment: environment)
                    ? try sections.state.limitsFolder : try sections.state.sharedLimitsFolder,
                clock: SystemClock())
            flags.format.print(check.result.object) { check.lines }
            return check.failure.map { ExitStatus(of: $0.category) } ?? .done
        } catch {
            return ExitStatus(of: error)
        }
    }
}
