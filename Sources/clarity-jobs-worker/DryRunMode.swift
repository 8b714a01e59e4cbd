import ClarityScheduler
import ClaritySystem
import ClarityWorkers

/// Shows what an order would do; the order comes on the standard input, `end` or its end ends it.
enum DryRunMode {
    static func run() async -> ExitStatus {
        guard let order = OrderInput.read() else { return .faultyInput }
        // Who asks for a dry run as if at another time schedules its order for then.
        let outcome = await DryRun.run(
            order, environment: keyEnvironment(named: order.options["key.variable"]),
            clock: FixedClock(order.scheduledFor),
            show: { print($0) })
        return ExitStatus(outcome)
    }
}
