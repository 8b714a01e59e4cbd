import HealthStore
import ClarityScheduler
import Import
import Platform
import ClarityJobs
import JSON
import Reports
@preconcurrency import Glibc
import Synchronization

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
