import ClarityScheduler
import ClaritySystem
import ClarityTransport
import ClarityWorkers

/// Sends a test message to the targets of an order, which comes on the standard input.
enum NotifyTestMode {
    static func run(_ arguments: ArraySlice<String>) async -> ExitStatus {
        guard let order = OrderInput.read() else { return .faultyInput }
        do {
            let failure = try await NotifyAttempt.test(
                order, only: arguments.first, environment: environment(for: order),
                clock: SystemClock(),
                transport: try CurlTransport(version: programVersion, trust: order.trust())
            ) { target, fault in
                print("\(target): \(fault ?? "sent")".printable)
            }
            return failure.map { ExitStatus(of: $0.category) } ?? .done
        } catch {
            return ExitStatus(of: error)
        }
    }
}
