import ClarityJobs
import ClarityScheduler
import ClaritySources
import ClaritySystem
import ClarityWorkers
@preconcurrency import Glibc
import Synchronization

/// Shows the status of a job file's sources; they are in the order on the standard input.
enum SourcesMode {
    static func run(_ arguments: [String]) -> ExitStatus {
        guard let flags = Flags(arguments, values: ["output"]) else {
            return Program.usageError("expected `sources` with an order")
        }
        guard let order = OrderInput.read() else { return .faultyInput }
        do {
            let environment = keyEnvironment(named: order.options["key.variable"])
            let state = order.options["state.directory"] ?? ""
            // A query creates nothing.
            let store =
                HealthStore.exists(in: state)
                ? announced(try HealthStore(stateDirectory: state, environment: environment)) : nil
            let statuses = try SourceStatus.all(
                order, store: store, now: SystemClock().now,
                zones: SourceZones(environment: environment))
            switch flags.format {
            case .table: show(SourceStatus.lines(statuses), order)
            case .json: print(SourceStatus.json(statuses, isPage: true))
            case .ndjson:
                if !statuses.isEmpty { print(SourceStatus.json(statuses, isPage: false)) }
            }
            return .done
        } catch {
            return ExitStatus(of: error)
        }
    }
}

/// Imports a file or folder into the outbox; the order on the standard input says what and where.
enum ImportMode {
    /// A signal ended the import.
    private struct Interrupted: Error {
        var signal: Int32
    }

    static func run(_ arguments: [String]) -> ExitStatus {
        guard
            let flags = Flags(
                arguments, values: ["output"], switches: ["report", "quiet", "change-time-zone"])
        else { return Program.usageError("expected `import` with an order") }
        guard let order = OrderInput.read() else { return .faultyInput }
        let display = ImportDisplay(isQuiet: flags.has("quiet"), clock: SystemClock())
        do {
            let environment = keyEnvironment(named: order.options["key.variable"])
            let store = announced(
                try HealthStore(
                    stateDirectory: order.options["state.directory"] ?? "",
                    environment: environment, actor: AuditActor(program: "import"),
                    clock: SystemClock()))
            let account = try FileImport(
                order, store: store, clock: SystemClock(),
                zones: SourceZones(environment: environment), isReport: flags.has("report"),
                changesZone: flags.has("change-time-zone")
            ).run { progress in
                if let number = received { throw Interrupted(signal: number) }
                display.show(progress, of: order)
            }
            display.end()
            return tell(account, flags)
        } catch let interruption as Interrupted {
            display.end()
            complain("interrupted; what was read before it is kept")
            return interruption.signal == SIGINT ? .interrupted : .terminated
        } catch {
            display.end()
            if let error = error as? SourceError { return ExitStatus(of: error) }
            return ExitStatus(of: error)
        }
    }

    private static func tell(_ account: ImportAccount, _ flags: Flags) -> ExitStatus {
        let isWhole = flags.has("report")
        switch flags.format {
        case .table:
            show([account.summary] + (isWhole ? account.reportLines : []))
        case .json, .ndjson: print(account.json(isWhole: isWhole, isPage: flags.format == .json))
        }
        guard let complaint = account.complaint else { return .done }
        account.faults.forEach(printError)
        complain(complaint)
        return account.report.brokeAt?.isOfDisk == true ? .disk : .faultyInput
    }

    /// Takes over the signals, before the import starts. The first signal asks the import to end,
    /// and a second one ends the program at once.
    static func prepare() {
        // Created first: the signal handler must not be the one that creates it.
        _ = received
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in [SIGINT, SIGTERM] {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { number in
                signalReceived.store(number, ordering: .relaxed)
            }
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND)) | SA_RESTART
            sigaction(number, &action, nil)
            sigaddset(&signals, number)
        }
        // The process that started this one may have blocked them.
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }

    private static var received: Int32? {
        let number = signalReceived.load(ordering: .relaxed)
        return number == 0 ? nil : number
    }
}

/// Set by the handler. Global, because a signal handler can reach nothing else.
private let signalReceived = Atomic<Int32>(0)
