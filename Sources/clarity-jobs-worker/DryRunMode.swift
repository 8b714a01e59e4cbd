import ClarityScheduler
import ClaritySystem
import ClarityWorkers

/// Shows what an order would do; the order comes on the standard input, `end` or its end ends it.
enum DryRunMode {
    static func run() async -> ExitStatus {
        var lines: [String] = []
        while lines.last != "end", let line = readLine() { lines.append(line) }
        let order: AttemptOrder
        do {
            order = try AttemptOrder(lines: lines)
        } catch {
            complain("the order on the standard input is faulty: expected \(error.expected)")
            return .faultyInput
        }
        // Who asks for a dry run as if at another time schedules its order for then.
        let outcome = await DryRun.run(
            order, environment: keyEnvironment(named: order.options["key.variable"]),
            clock: FixedClock(order.scheduledFor),
            show: { print($0) })
        return ExitStatus(outcome)
    }
}
