import HealthStore
import ClarityScheduler
import Platform
import Backend
import BackendContract
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
                backend, try HealthStore.dryRun(of: state, environment: environment),
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
                ["nothing to erase at the backend"] + ErasureReport.lines(plan)
            }
            return ids.isEmpty ? .done : .failed
        }
        if !flags.has("yes"), let refusal = unlessAgreed(to: plan) { return refusal }
        let (receipt, fault) = try await erasure.run(plan)
        flags.format.print(ErasureResult(receipt, plan).object) {
            ErasureReport.lines(receipt, plan)
        }
        if let fault { return ExitStatus(of: fault) }
        return receipt.isComplete ? .done : .failed
    }

    /// Returns the exit status if the person does not agree; `nil` if they do.
    private static func unlessAgreed(to plan: ErasurePlan) -> ExitStatus? {
        guard let terminal = Terminal() else {
            ErasureReport.lines(plan).forEach { printError("  \($0)") }
            complain("there is no terminal to ask on; use --yes to erase these")
            return .usage
        }
        guard terminal.agrees(to: ErasureReport.question(plan)) else {
            complain("nothing was done")
            return .failed
        }
        return nil
    }
}
