import HealthStore
import ClarityScheduler
import Import
import Platform
import ClarityJobs
import JSON
import Reports
@preconcurrency import Glibc
import Synchronization
import Backend
import BackendContract

/// Shows the status of a job file's sources; they are in the order.
enum SourcesMode {
    static func run(_ arguments: [String]) -> ExitStatus {
        guard let flags = Flags(arguments, values: ["output"]) else {
            return Program.usageError("expected `sources` with an order")
        }
        guard let order = OrderInput.read() else { return .faultyInput }
        do {
            let environment = try keyEnvironment(for: order)
            let state = try order.sections.state.directory
            // A query creates nothing.
            let store =
                HealthStore.exists(in: state, environment: environment)
                ? try HealthStore(stateDirectory: state, environment: environment) : nil
            let statuses = try SourceStatus.all(
                order, store: store, now: SystemClock().now,
                zones: SourceZones(environment: environment))
            let results = statuses.map { SourceResult($0.facts) }
            switch flags.format {
            case .table: show(SourceStatus.lines(statuses), inZone: try order.sections.sourceZone)
            case .json: print(results.json.page)
            case .ndjson: results.forEach { print($0.object.line) }
            }
            return .done
        } catch {
            return ExitStatus(of: error)
        }
    }
}

/// Imports a file or folder into the outbox; the order says what and where.
enum ImportMode {
    /// A signal ended the import.
    private struct Interrupted: Error {}

    static func run(_ arguments: [String]) -> ExitStatus {
        guard
            let flags = Flags(
                arguments, values: ["output"], switches: ["report", "quiet", "change-time-zone"])
        else { return Program.usageError("expected `import` with an order") }
        guard let order = OrderInput.read() else { return .faultyInput }
        let display = ImportDisplay(isQuiet: flags.has("quiet"), clock: SystemClock())
        do {
            let environment = try keyEnvironment(for: order)
            let store = try HealthStore(
                stateDirectory: order.sections.state.directory, environment: environment,
                actor: AuditActor(program: "import"), clock: SystemClock())
            let path = try order.sections.read(ImportOptions.self)?.path ?? ""
            let account = try FileImport(
                order, store: store, clock: SystemClock(),
                zones: SourceZones(environment: environment), isReport: flags.has("report"),
                changesZone: flags.has("change-time-zone")
            ).run { progress in
                if StopSignal.received != nil { throw Interrupted() }
                display.show(progress, of: path)
            }
            display.end()
            return tell(account, flags)
        } catch is Interrupted {
            display.end()
            complain("interrupted; what was read before it is kept")
            return StopSignal.status
        } catch {
            display.end()
            if let error = error as? SourceError { return ExitStatus(of: error) }
            return ExitStatus(of: error)
        }
    }

    private static func tell(_ account: ImportAccount, _ flags: Flags) -> ExitStatus {
        let isWhole = flags.has("report")
        let report = isWhole ? ImportResult.report : ImportResult.withoutNames
        flags.format.print(report.object(ImportResult(account.facts))) {
            [account.summary] + (isWhole ? account.reportLines : [])
        }
        guard let complaint = account.complaint else { return .done }
        account.faults.forEach(printError)
        complain(complaint)
        return account.report.brokeAt?.isOfDisk == true ? .disk : .faultyInput
    }
}

/// Shows the progress of an import on the error output: as a bar on a terminal, else as lines.
final class ImportDisplay: Sendable {
    private struct State {
        var text: ImportProgressText
        /// `nil` where progress is written as lines.
        var line: TerminalLine?
    }

    private let isQuiet: Bool
    private let clock: any WallClock
    private let state: Mutex<State>

    init(isQuiet: Bool, clock: any WallClock) {
        self.isQuiet = isQuiet
        self.clock = clock
        state = Mutex(State(text: ImportProgressText(at: clock.elapsed), line: TerminalLine()))
    }

    /// Shows the progress if it is time to.
    func show(_ progress: ImportProgress, of path: String) {
        guard !isQuiet else { return }
        state.withLock { state in
            if let width = state.line?.width {
                let bar = state.text.bar(progress, at: clock.elapsed, width: width)
                if let bar { state.line?.draw(bar) }
            } else {
                let name = path.split(separator: "/").last.map(String.init) ?? path
                if let line = state.text.line(progress, name: name) { printError(line) }
            }
        }
    }

    /// Removes the bar.
    func end() { state.withLock { $0.line?.erase() } }
}

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
