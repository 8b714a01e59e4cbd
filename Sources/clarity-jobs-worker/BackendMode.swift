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
        let names = [
            "backend", "dialect", "ca-bundle", "pins", "state", "retry-wait", "output",
            "max-requests-per-second", "max-connections", "limits-folder",
        ]
        guard let flags = Flags(arguments, values: names) else {
            return Program.usageError("expected `backend` with a backend")
        }
        do {
            let backend = try AuthMode.backend(flags)
            let check = try await BackendCheck(
                backend,
                try HealthStore.rehearsal(
                    of: flags.value("state"), environment: keyEnvironment()),
                try CurlTransport(version: programVersion, trust: backend.trust()),
                // Before anything was stored there is nobody to share the limits with, and a check
                // must not create the state directory.
                limits: HealthStore.exists(
                    in: try flags.value("state"), environment: keyEnvironment())
                    ? try AuthMode.limitsFolder(flags) : flags["limits-folder"],
                clock: SystemClock())
            flags.format.print(check.result.object) { check.lines }
            return check.failure.map { ExitStatus(of: $0.category) } ?? .done
        } catch let error as Flags.Missing {
            return Program.usageError("`--\(error.name)` is missing")
        } catch {
            return ExitStatus(of: error)
        }
    }
}
