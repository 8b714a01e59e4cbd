import ClarityHost
import ClarityScheduler
import Platform

/// `import FILE` and `sources`.
///
/// Both run in `clarity-jobs-worker`, which links the code that reads archives and decrypts health
/// data. It receives the settings that it needs from the job file as an order, like an attempt.
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
        var options = settings(of: path, in: file.settings)
        // Keeps the spelling of the job file, because an import is recorded under its path.
        if options["path"] == nil { options["path"] = path }
        for (flag, key) in [("kind", "kind"), ("since", "since"), ("time-zone", "time_zone")] {
            if let value = arguments[flag] { options[key] = value }
        }
        let preferred = arguments.all("prefer")
        if !preferred.isEmpty { options["prefer"] = preferred.joined(separator: "\n") }
        if arguments.has("change-time-zone"), options["time_zone"] == nil {
            throw CommandFailure(
                .usage, "--change-time-zone wants a time zone", "help: name it with --time-zone")
        }
        var words = ["import"]
        if arguments.has("report") { words.append("--report") }
        if arguments.has("change-time-zone") { words.append("--change-time-zone") }
        if composition.console.isQuiet { words.append("--quiet") }
        var entries = options.map { ("sources.0.\($0.key)", $0.value) }
        if let zone = SourceCommands.timeZone(in: file) { entries.append(("time_zone", zone)) }
        try exec(words, entries, file)
    }

    func list() throws(CommandFailure) -> ExitStatus {
        let file = try composition.jobFile()
        let entries = file.settings.filter { $0.key.hasPrefix("sources.") }
        try exec(["sources"], entries.map { ($0.key, $0.value) }, file)
    }

    /// Returns the time zone that the sources of the job file name; they all name the same one.
    static func timeZone(in file: JobFile) -> String? {
        file.settings.first { $0.key.hasPrefix("sources.") && $0.key.hasSuffix(".time_zone") }?
            .value
    }

    /// Returns the options of the job file's source with this path, without the prefix of their
    /// names; empty if there is no such source.
    ///
    /// The job file may spell the path in any way.
    ///
    /// - Parameter path: the path in its shortest form.
    private func settings(of path: String, in settings: [String: String]) -> [String: String] {
        let entry = settings.keys.filter {
            $0.hasPrefix("sources.") && $0.hasSuffix(".path")
                && settings[$0].map(composition.absolute) == path
        }.min()
        guard let prefix = entry?.dropLast("path".count) else { return [:] }
        var options: [String: String] = [:]
        for (key, value) in settings where key.hasPrefix(prefix) {
            options[String(key.dropFirst(prefix.count))] = value
        }
        return options
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

    private func exec(
        _ words: [String], _ entries: [(String, String)], _ file: JobFile
    ) throws(CommandFailure) -> Never {
        var options = Dictionary(uniqueKeysWithValues: entries)
        options["state.directory"] = try composition.ownData(file)
        options["key.variable"] = file.settings["key.variable"]
        guard let job = JobID("sources") else {
            throw CommandFailure(.internalFault, "no name for the order")
        }
        try OrderHandover.give(
            AttemptOrder(
                run: RunID(0), job: job, kind: JobKind("bulk-upload"), attempt: 1, generation: 1,
                scheduledFor: composition.clock.now, timeout: .zero, warning: .zero,
                memoryLimitBytes: 0, options: options))
        try composition.exec(
            "clarity-jobs-worker", words + ["--output", composition.console.form.rawValue],
            for: file)
    }
}
