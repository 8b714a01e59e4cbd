import ClarityScheduler
import ClaritySystem
import ClarityWorkers

/// Shows what an order would do. The order on the standard input ends with `end` or with the input.
enum DryRunMode {
    static func run() async -> ExitStatus {
        guard let order = OrderInput.read() else { return .faultyInput }
        // A dry run as of another time has an order that is scheduled for that time.
        let outcome = await DryRun.run(
            order, environment: keyEnvironment(named: order.options["key.variable"]),
            clock: FixedClock(order.scheduledFor),
            show: { print($0) })
        return ExitStatus(outcome)
    }
}
