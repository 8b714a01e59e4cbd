import ClarityJobs
import ClarityScheduler
import ClaritySystem
import ClarityWorkers
@preconcurrency import Glibc

/// Shows what is in the outbox and where it came from, and performs a person's actions on it.
enum OutboxMode {
    /// A request that cannot be carried out, in one line.
    private struct Refusal: Error {
        var line: String
    }

    static func run(_ arguments: [String]) -> ExitStatus {
        let flags = Flags(
            Array(arguments.dropFirst()),
            values: [
                "state", "output", "in-state", "type", "before", "reason", "limit", "id", "backend",
                "dialect", "route", "batch-size",
            ],
            switches: ["all", "yes", "values", "quiet"])
        guard let action = arguments.first, let flags else {
            return Program.usageError(
                "expected `outbox sums`, `list`, `show`, `retry` or `discard`")
        }
        do {
            switch action {
            case "sums": return try sums(flags)
            case "list": return try list(flags)
            case "show": return try show(flags)
            case "retry": return try perform(.retry, flags)
            case "discard": return try perform(.discard, flags)
            default: return Program.usageError("unknown action `outbox \(action)`")
            }
        } catch let error as Flags.Missing {
            return Program.usageError("`--\(error.name)` is missing")
        } catch let refusal as Refusal {
            complain(refusal.line)
            return .usage
        } catch {
            return ExitStatus(of: error)
        }
    }

    private static func sums(_ flags: Flags) throws -> ExitStatus {
        guard let store = try OutboxMode.store(flags) else {
            if flags.form == .table { printError("nothing is kept yet") }
            if flags.form != .table { write(flags, [], OutboxArithmetic().json(isPage: false)) }
            return .done
        }
        let sums = try store.arithmetic()
        let forecast = try flags["backend"].flatMap { backend in
            try UploadForecast.line(
                store, backend: backend, dialect: flags["dialect"], route: flags["route"],
                batchSize: flags["batch-size"].flatMap { Int($0) })
        }
        write(
            flags, sums.lines + (forecast.map { [$0] } ?? []),
            sums.json(isPage: flags.form == .json))
        return sums.isBalanced ? .done : .failed
    }

    private static func list(_ flags: Flags) throws -> ExitStatus {
        let selection = try selection(flags)
        guard let limit = Int(flags["limit"] ?? "20"), (1...100_000).contains(limit) else {
            throw Refusal(line: "--limit is a number from 1 to 100000")
        }
        let (entries, total) =
            try store(flags)?.outboxEntries(selection, limit: limit) ?? ([], 0)
        switch flags.form {
        case .json: print(OutboxEntry.page(entries))
        case .ndjson: entries.forEach { print($0.json) }
        case .table:
            entries.forEach { print($0.line) }
            if total > Int64(entries.count), !flags.has("quiet") {
                printError("\(total - Int64(entries.count)) more; see --limit")
            }
        }
        return .done
    }

    private static func show(_ flags: Flags) throws -> ExitStatus {
        guard let id = Int64(try flags.value("id")) else {
            throw Refusal(line: "`outbox show` wants the number of a sample")
        }
        let withValue = flags.has("values")
        guard !withValue || isatty(STDOUT_FILENO) == 1 else {
            throw Refusal(line: "--values shows health data on a terminal alone")
        }
        guard let sample = try store(flags)?.outboxSample(id, withValue: withValue) else {
            complain("the outbox has no sample \(id)")
            return .failed
        }
        write(flags, sample.lines, sample.json(isPage: flags.form == .json))
        return .done
    }

    private static func perform(_ wish: OutboxWish, _ flags: Flags) throws -> ExitStatus {
        let selection = try selection(flags)
        guard !selection.isEverything || flags.has("all") else {
            throw Refusal(line: "`outbox \(wish.rawValue)` wants a filter, or --all")
        }
        guard let store = try store(flags) else { return done(wish, 0, selection, flags) }
        let shares =
            switch wish {
            case .retry: try store.retryShares(selection)
            case .discard: try store.discardShares(selection)
            }
        guard !shares.isEmpty else { return done(wish, 0, selection, flags) }
        if case .retry = wish {
            let (there, doubled) = try store.retryCost(selection)
            OutboxWish.retryWarning(there: there, doubled: doubled).map(printError)
        }
        if !flags.has("yes") {
            guard let terminal = Terminal() else {
                wish.lines(shares).forEach(printError)
                throw Refusal(
                    line: "there is no terminal to ask on; use --yes to \(wish.rawValue) these")
            }
            let question = wish.question(shares, isForgetting: selection.meansDiscarded)
            guard case .line(let answer) = terminal.ask(question, isSecret: false),
                LogoutText.isYes(answer)
            else {
                complain("nothing was done")
                return .failed
            }
        }
        let count =
            switch wish {
            case .retry: try store.retry(selection)
            case .discard: try store.discard(selection)
            }
        return done(wish, count, selection, flags)
    }

    private static func done(
        _ wish: OutboxWish, _ count: Int64, _ selection: OutboxSelection, _ flags: Flags
    ) -> ExitStatus {
        write(
            flags, [wish.summary(count, isForgetting: selection.meansDiscarded)], wish.json(count))
        return .done
    }

    private static func selection(_ flags: Flags) throws -> OutboxSelection {
        var selection = OutboxSelection()
        if let name = flags["in-state"] {
            guard let state = OutboxState(name: name) else {
                throw Refusal(line: "`\(name)` is no state of a sample")
            }
            selection.state = state
        }
        if let name = flags["type"] {
            guard let kind = SampleKind(rawValue: name) else {
                let known = SampleKind.allCases.map(\.rawValue).joined(separator: ", ")
                throw Refusal(line: "there is no type `\(name)`; there are \(known)")
            }
            selection.kind = kind
        }
        if let text = flags["before"] {
            guard let instant = Instant(rfc3339: text) else {
                throw Refusal(line: "--before is an instant such as 2026-11-20T06:00:00Z")
            }
            selection.before = instant
        }
        selection.reason = flags["reason"]
        return selection
    }

    private static func write(_ flags: Flags, _ lines: [String], _ json: String) {
        if flags.form == .table { lines.forEach { print($0) } } else { print(json) }
    }

    /// Opens the store; `nil` if there is none, because a query creates nothing.
    private static func store(_ flags: Flags) throws -> HealthStore? {
        let state = try flags.value("state")
        guard HealthStore.exists(in: state) else { return nil }
        return announced(
            try HealthStore(
                stateDirectory: state, environment: keyEnvironment(),
                actor: AuditActor(program: "outbox"), clock: SystemClock()))
    }
}
