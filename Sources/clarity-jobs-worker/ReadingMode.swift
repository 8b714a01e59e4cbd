import ClarityJobs
import ClarityScheduler
import ClaritySystem
import ClarityWorkers
@preconcurrency import Glibc

/// Shows the data on this machine: metrics, insights, the profile, a day, archived versions.
///
/// It contacts no backend, and changes only the audit log, which records the reading.
enum ReadingMode {
    static func run(_ arguments: [String]) -> ExitStatus {
        guard let part = arguments.first,
            let flags = Flags(
                Array(arguments.dropFirst()),
                values: ["state", "name", "type", "since", "now", "time-zone", "output"])
        else { return Program.usageError("expected `read` with a part and flags") }
        do {
            return try show(part, flags)
        } catch let error as Flags.Missing {
            return Program.usageError("`--\(error.name)` is missing")
        } catch let refusal as Refusal {
            complain(refusal.words)
            return refusal.status
        } catch {
            return ExitStatus(of: error)
        }
    }

    /// Why there is nothing to show.
    private struct Refusal: Error {
        var words: String
        var status = ExitStatus.missingInput
    }

    private static func show(_ part: String, _ flags: Flags) throws -> ExitStatus {
        let state = try flags.value("state")
        let form = flags["output"].flatMap { SheetForm(rawValue: $0) } ?? .table
        // A query creates nothing.
        guard HealthStore.exists(in: state) else {
            throw Refusal(words: "no health data is kept yet; run `clarity-jobs auth login`")
        }
        let environment = keyEnvironment()
        let store = announced(
            try HealthStore(
                stateDirectory: state, environment: environment, actor: AuditActor(program: part)))
        let zone = try SourceZones(environment: environment)
            .dayZone(of: store, named: flags["time-zone"])
        let reader = SheetReader(
            store, now: SheetReader.present(flags["now"], in: zone, now: SystemClock().now),
            zone: zone, style: Screen.style, form: form)
        let sheet = try sheet(part, flags, reader)
        // Recorded first, so that nothing is shown that is not in the log.
        try store.record(
            form == .table ? .read : .exported, sheet.counts,
            detail: form == .table ? "shown: \(part)" : "as \(form.rawValue): \(part)")
        let text = Array(sheet.text(form).utf8)
        guard fwrite(text, 1, text.count, stdout) == text.count, fflush(stdout) == 0 else {
            if errno == EPIPE { return .done }
            complain("cannot write to standard output")
            return .disk
        }
        guard let damage = sheet.damageLine else { return .done }
        complain(damage)
        return .failed
    }

    private static func sheet(
        _ part: String, _ flags: Flags, _ reader: SheetReader
    ) throws -> Sheet {
        switch part {
        case "metrics":
            guard let name = flags["name"] else { return try reader.metrics() }
            guard let selection = MetricSelection(named: name),
                let since = SheetReader.Since(flags["since"] ?? "30d")
            else { throw Refusal(words: "no such type of metrics", status: .usage) }
            return try reader.metrics(selection, since: since)
        case "insights":
            guard let id = flags["name"] else { return try reader.insights() }
            return try found(
                try reader.insight(id),
                "no single insight whose id is or begins with `\(id.printable)`")
        case "profile":
            return try found(
                try reader.profile(), "no profile is kept yet; a `refresh` brings it")
        case "summary": return try reader.summary()
        case "archive":
            guard let name = flags["name"] else {
                return try reader.archive(
                    type: flags["type"], since: flags["since"].flatMap { Instant(rfc3339: $0) })
            }
            return try found(
                try reader.archived(Int64(name) ?? 0), "no archived version `\(name.printable)`")
        default: throw Refusal(words: "nothing called `\(part)` can be read", status: .usage)
        }
    }

    private static func found(_ sheet: Sheet?, _ words: String) throws -> Sheet {
        guard let sheet else { throw Refusal(words: words) }
        return sheet
    }
}

/// The properties of the standard output.
private enum Screen {
    /// The number of columns if it is not a terminal, or one that does not report its width.
    private static let columns = 80
    /// TIOCGWINSZ (ioctl_tty(2)), a macro that Swift does not see.
    private static let getSize: UInt = 0x5413

    static var style: PageStyle {
        guard isatty(STDOUT_FILENO) == 1 else { return PageStyle(width: columns, isPlain: true) }
        var size = winsize()
        let isKnown = ioctl(STDOUT_FILENO, getSize, &size) == 0 && size.ws_col > 0
        let isPlain =
            getenv("NO_COLOR").map { $0.pointee != 0 } ?? false
            || getenv("TERM").map { String(cString: $0) } ?? "dumb" == "dumb"
        return PageStyle(width: isKnown ? Int(size.ws_col) : columns, isPlain: isPlain)
    }
}
