import Backend
import HealthStore
import Reports
import ClarityScheduler
import Platform
import ClarityJobs

/// Deletes at the backend what was uploaded, once a person agrees.
enum EraseMode {
    static func run(_ arguments: [String]) async -> ExitStatus {
        guard let flags = Flags(arguments, values: ["samples", "output"], switches: ["yes"])
        else { return Program.usageError("expected `erase` with an order") }
        guard let order = OrderInput.read() else { return .faultyInput }
        do {
            return try await run(flags, order)
        } catch {
            return ExitStatus(of: error)
        }
    }

    private static func run(_ flags: Flags, _ order: AttemptOrder) async throws -> ExitStatus {
        let state = try order.sections.state.directory
        let environment = try keyEnvironment(for: order)
        guard HealthStore.exists(in: state, environment: environment) else {
            throw APIError.notLoggedIn
        }
        let store = try HealthStore(
            stateDirectory: state, environment: environment,
            actor: AuditActor(program: "outbox erase"))
        let erasure = UploadErasure(
            store, try AuthMode.client(order, store), clock: SystemClock())
        let ids = flags["samples"]?.split(separator: ",").compactMap { Int64($0) } ?? []
        let plan = try await erasure.plan(ids)
        guard !plan.uploads.isEmpty else {
            flags.format.print(ErasureResult(ErasureReceipt(), plan).object) {
                ["nothing to erase at the backend"] + ErasureText.lines(plan)
            }
            return ids.isEmpty ? .done : .failed
        }
        if !flags.has("yes"), let refusal = unlessAgreed(to: plan) { return refusal }
        let (receipt, fault) = try await erasure.run(plan)
        flags.format.print(ErasureResult(receipt, plan).object) {
            ErasureText.lines(receipt, plan)
        }
        if let fault { return ExitStatus(of: fault) }
        return receipt.isComplete ? .done : .failed
    }

    /// Returns the exit status if the person does not agree; `nil` if they do.
    private static func unlessAgreed(to plan: ErasurePlan) -> ExitStatus? {
        guard let terminal = Terminal() else {
            ErasureText.lines(plan).forEach { printError("  \($0)") }
            complain("there is no terminal to ask on; use --yes to erase these")
            return .usage
        }
        guard terminal.agrees(to: ErasureText.question(plan)) else {
            complain("nothing was done")
            return .failed
        }
        return nil
    }
}
