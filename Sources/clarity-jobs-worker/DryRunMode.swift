import ClarityScheduler
import HealthStore
import Platform
import ClarityJobs
import Reports
import JSON
import Backend
import BackendContract
import Glibc

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

/// Sends a test message to the targets of an order, which comes on descriptor 3.
enum NotifyTestMode {
    static func run(_ arguments: [String]) async -> ExitStatus {
        guard let flags = Flags(arguments, values: ["output", "target"]) else {
            return Program.usageError("expected `notify-test` with an order")
        }
        guard let order = OrderInput.read() else { return .faultyInput }
        // A program that does not read its message must not end this one.
        signal(SIGPIPE, SIG_IGN)
        do {
            var results: [NotifyTestResult] = []
            let failure = try await NotifyAttempt.test(
                order, only: flags["target"], environment: try keyAndSecrets(for: order),
                clock: SystemClock(),
                transport: try CurlTransport(version: programVersion, trust: order.trust())
            ) { target, fault in
                switch flags.format {
                case .table: show(["\(target): \(fault ?? "sent")".printable])
                case .json, .ndjson:
                    results.append(NotifyTestResult(target: target, fault: fault))
                }
            }
            switch flags.format {
            case .table: break
            case .json: print(results.json.page)
            case .ndjson: results.forEach { print($0.object.line) }
            }
            return failure.map { ExitStatus(of: $0.category) } ?? .done
        } catch {
            return ExitStatus(of: error)
        }
    }
}
