import ClarityHost
import HealthStore
import ClarityScheduler
import Platform

/// `import FILE` and `sources`.
///
/// Both run in `clarity-jobs-worker`, which links the code that reads archives and decrypts health
/// data.
struct SourceCommands {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    func importFile() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        guard arguments.operands.count == 1, let operand = arguments.operands.first,
            !operand.isEmpty
        else {
            throw CommandFailure(
                .usage, "`import` wants one file, got \(arguments.operands.count)")
        }
        try check(arguments)
        let path = composition.absolute(operand)
        let file = try composition.jobFile()
        let imported = try imported(path, file)
        if arguments.has("change-time-zone"), imported.timeZone == nil {
            throw CommandFailure(
                .usage, "--change-time-zone wants a time zone", "help: name it with --time-zone")
        }
        var words = ["import"]
        if arguments.has("report") { words.append("--report") }
        if arguments.has("change-time-zone") { words.append("--change-time-zone") }
        if composition.console.isQuiet { words.append("--quiet") }
        let order = try composition.order(.bulkUpload, file) { $0.set(imported) }
        try composition.becomeWorker(words, order, for: file)
    }

    func list() throws(CommandFailure) -> ExitStatus {
        let file = try composition.jobFile()
        try composition.becomeWorker(
            ["sources"], try composition.order(.bulkUpload, file), for: file)
    }

    /// Returns what to import: as the job file's source with this path, changed by the flags.
    ///
    /// The job file may spell the path in any way. Its spelling is kept, because an import is recorded
    /// under its path.
    ///
    /// - Parameter path: the path in its shortest form.
    private func imported(
        _ path: String, _ file: JobFile
    ) throws(CommandFailure) -> ImportOptions {
        let arguments = composition.arguments
        let source = try readingSections { () throws(Failure) in try file.sections.sources }
            .first { composition.absolute($0.path) == path }
        var imported = ImportOptions()
        imported.path = source?.path ?? path
        imported.kind = arguments["kind"].map { SourceOptions.Kind(rawValue: $0) } ?? source?.kind
        imported.timeZone = arguments["time-zone"] ?? source?.timeZone
        imported.since = arguments["since"] ?? source?.since
        let preferred = arguments.all("prefer")
        imported.preferred =
            preferred.isEmpty ? source?.preferred : preferred.joined(separator: "\n")
        return imported
    }

    private func check(_ arguments: Arguments) throws(CommandFailure) {
        if let text = arguments["since"], Instant(rfc3339: text) == nil,
            Instant(rfc3339: "\(text)T00:00:00Z") == nil
        {
            throw CommandFailure(
                .usage,
                "--since is a date such as `2026-01-31` or an instant, got `\(text)`")
        }
        if let name = arguments["time-zone"], !composition.hasZone(name) {
            throw CommandFailure(
                .usage, "--time-zone `\(name)` is no time zone that this machine knows",
                "help: \(composition.zones.remedy)")
        }
        for name in arguments.all("prefer") where name.isEmpty || name.contains("\n") {
            throw CommandFailure(.usage, "--prefer wants the name of a device or an app")
        }
    }
}
