import ClarityScheduler
import HealthStore
import Platform
import ClarityJobs
import Reports
import JSON

/// Shows what an order would do.
enum DryRunMode {
    static func run(_ arguments: [String]) async -> ExitStatus {
        guard let flags = Flags(arguments, values: ["output"]) else {
            return Program.usageError("expected `dry-run` with an order")
        }
        guard let order = OrderInput.read() else { return .faultyInput }
        let environment: [String: String]
        let zone: String?
        do throws(Failure) {
            environment = try keyEnvironment(for: order)
            zone = try order.sections.sourceZone
        } catch {
            return ExitStatus(of: error)
        }
        // A dry run as of another time has an order that is scheduled for that time.
        let outcome = await DryRun.run(
            order, environment: environment,
            clock: FixedClock(order.scheduledFor),
            show: { if flags.format == .table { show([$0], inZone: zone) } },
            // For people, everything was shown on the way.
            report: { result in flags.format.print(result.object) { [] } })
        return ExitStatus(outcome)
    }
}
