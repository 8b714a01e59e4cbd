import ClarityHost
import HealthStore
import ClarityScheduler
import Platform
import Reports
@preconcurrency import Glibc
import SwiftOverlayShims

/// Supplies the real components: files, clocks, the environment and the programs beside this one.
struct Composition {
    let arguments: Arguments
    let environment: [String: String]
    let console: Console
    /// The job file of an account that a command for all accounts has come to.
    private var ownFile: JobFile?
    /// The machine's clock, or a clock fixed at the time of `--now`.
    let clock: any WallClock
    /// The service manager that wants to hear how a long-running command is doing.
    let serviceManager: ServiceManager?

    init(
        arguments: Arguments, environment: [String: String], console: Console,
        serviceManager: ServiceManager?
    ) throws(CommandFailure) {
        self.arguments = arguments
        self.environment = environment
        self.console = console
        self.serviceManager = serviceManager
        guard let text = arguments["now"] else {
            clock = SystemClock()
            return
        }
        clock = FixedClock(
            try PresentTime(text: text).instant { () throws(CommandFailure) in
                try Composition.localZone(environment)
            })
    }

    /// Returns the same components for other arguments.
    func with(arguments: Arguments) -> Composition {
        Composition(
            arguments: arguments, environment: environment, console: console, clock: clock,
            serviceManager: serviceManager)
    }

    /// Returns the same components for a job file that was read already.
    func working(on file: JobFile, with console: Console) -> Composition {
        var own = Composition(
            arguments: arguments, environment: environment, console: console, clock: clock,
            serviceManager: serviceManager)
        own.ownFile = file
        return own
    }

    private init(
        arguments: Arguments, environment: [String: String], console: Console,
        clock: any WallClock, serviceManager: ServiceManager?
    ) {
        self.arguments = arguments
        self.environment = environment
        self.console = console
        self.clock = clock
        self.serviceManager = serviceManager
    }

    // MARK: The job file

    /// Finds, parses and checks the job file, and returns what this command sees of it: the account
    /// of `--account` alone, or the jobs of all accounts.
    func jobFile() throws(CommandFailure) -> JobFile {
        if let ownFile { return ownFile }
        let file = try wholeJobFile()
        guard let name = arguments["account"] else { return file.expanded }
        let view = file.view(of: try account(named: name, in: file))
        console.showTimes(
            inZone: try sourceZone(view), environment: environment, clock: clock)
        return view
    }

    /// For whom the pages' server runs this command: `caretaker`, `wearer` or `person`; `nil` for a
    /// command that somebody runs at a terminal.
    var pagesViewer: String? { environment["CLARITY_JOBS_PAGES_VIEWER"] }

    /// The account of `--account`, if the option has an account's id.
    var namedAccount: AccountID? { arguments["account"].flatMap { AccountID($0) } }

    /// Returns the job file for what plans the jobs of all accounts, or those of `--account` alone.
    func jobFileToRun(
        remembering memory: AccountMemory? = nil
    ) throws(CommandFailure) -> JobFile {
        arguments["account"] == nil ? try wholeJobFile(remembering: memory) : try jobFile()
    }

    /// The commands that run no program, for which somebody else may write the job file.
    private static let runningNothing: Set<[String]> = [
        ["list"], ["next"], ["simulate"], ["history"], ["history", "missed"], ["history", "show"],
        ["history", "waits"], ["tonight"], ["logs"],
        ["accounts", "list"], ["accounts", "show"], ["accounts", "add"], ["completion", "words"],
    ]

    /// Finds, parses and checks the job file. Its accounts' jobs are those of `JobFile.groups`.
    ///
    /// - Parameter holdsFaulty: whether jobs and accounts with a fault are held.
    func wholeJobFile(
        remembering memory: AccountMemory? = nil, holdsFaulty: Bool = true
    ) throws(CommandFailure) -> JobFile {
        let path = try jobFilePath()
        try requireReadable(path)
        let runsNothing = Composition.runningNothing.contains(arguments.path)
        var reader = runsNothing ? jobFileReader : runnersReader
        reader.holdsFaulty = holdsFaulty
        // The fault may be in what only whoever looks after this machine is to see.
        let hidden =
            "the job file has an error; whoever looks after this machine sees it by "
            + "`clarity-jobs validate`"
        var file: JobFile
        do throws(JobFileFaults) {
            file = try reader.read(fileAt: path, remembering: memory)
        } catch {
            let failure =
                pagesViewer == "wearer" ? CommandFailure(.faultyInput, hidden) : failure(error)
            guard let former = validFile(path, error, reader) else { throw failure }
            file = former
            file.laterFault = failure.lines.joined(separator: "; ")
            if arguments.path != ["status"] {
                failure.lines.forEach(console.fault)
                console.fault("clarity-jobs: using the job file as it was last valid")
            }
        }
        if pagesViewer == "wearer" { file.hideFaults(as: hidden) }
        // People see times in the zone of the account's days.
        console.showTimes(
            inZone: try sourceZone(file), environment: environment, clock: clock)
        return file
    }

    /// The commands that only show something, and so work by a former job file while the present one
    /// has a fault. All others need a valid one.
    private static let workingByFormerFile: Set<[String]> = [
        ["status"], ["list"], ["next"], ["tonight"], ["explain"], ["history"],
        ["history", "missed"], ["history", "show"], ["history", "waits"], ["logs"], ["outbox"],
        ["audit"], ["audit", "log"], ["fhir", "list"], ["notices"],
        ["notices", "list"], ["sources"], ["summary"], ["metrics"],
        ["records"], ["nights"], ["workouts"], ["activity"], ["diary"], ["ecgs"],
        ["trends"], ["year"], ["report"], ["insights"], ["analyses"], ["profile"], ["archive"],
        ["archive", "list"], ["archive", "show"], ["serve"], ["serve", "link"], ["exporter"],
        ["accounts", "list"], ["accounts", "show"], ["auth", "status"], ["backup", "list"],
        ["completion", "words"],
    ]

    /// Returns the job file as it was when a scheduler last found it valid; `nil` if there is none, or
    /// the command needs a valid one.
    private func validFile(
        _ path: String, _ faults: JobFileFaults, _ reader: JobFileReader
    ) -> JobFile? {
        var status = stat()
        guard faults.writer == nil, Composition.workingByFormerFile.contains(arguments.path),
            stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        do {
            let folder = reader.stateDirectory(in: try reader.bytes(of: path), path: path)
            let former = ValidJobFile(inState: statePath(named: folder))
            return try former.read(absolute(path), reader)
        } catch {
            // The fault of the job file is what there is to say.
            return nil
        }
    }

    /// Says which jobs and accounts are held, and why.
    func reportHeld(_ file: JobFile) {
        file.heldFaults.flatMap { $0.split(separator: "\n") }.forEach { console.fault(String($0)) }
    }

    /// Leaves the job file as it is now for when it has a fault.
    ///
    /// Without the copy, commands refuse a file with a fault as they refuse any: nothing else needs it.
    func keepValid(_ file: JobFile) {
        do throws(BackupError) {
            try ValidJobFile(inState: statePath(file)).keep(foundJobFilePath, jobFileReader)
        } catch {
            console.fault("clarity-jobs: cannot copy the job file: \(error)")
        }
    }

    /// Returns the account that a word on the command line names.
    func account(named name: String, in file: JobFile) throws(CommandFailure) -> AccountDeclaration
    {
        guard let accounts = file.accounts else {
            throw CommandFailure(
                .usage, "--account names `\(name)`, and the job file has no `accounts`")
        }
        if let account = accounts.first(where: { $0.id.rawValue == name }) { return account }
        // A wearer has not chosen the name, and is told of no other.
        let suggestion =
            pagesViewer == nil ? didYouMean(name, among: accounts.map(\.id.rawValue)) : ""
        throw CommandFailure(.usage, "no account `\(name)` in the job file\(suggestion)")
    }

    /// Returns the time zone that the sources of a job file name.
    func sourceZone(_ file: JobFile) throws(CommandFailure) -> String? {
        try readingSections { () throws(Failure) in try file.sections.sourceZone }
    }

    /// Returns whether a job file names a backend.
    func hasBackend(_ file: JobFile) throws(CommandFailure) -> Bool {
        try readingSections { () throws(Failure) in try file.sections.backend != nil }
    }

    /// Returns the backend, for a command that concerns nothing else.
    func backend(_ file: JobFile) throws(CommandFailure) -> BackendOptions {
        let backend = try readingSections { () throws(Failure) in try file.sections.backend }
        if let backend { return backend }
        throw CommandFailure(
            .configuration, "the job file has no `backend`",
            "help: name it as `backend: { url: https://... }`")
    }

    /// Returns the path of the job file: the given one, else the first default path that exists.
    func jobFilePath() throws(CommandFailure) -> String {
        if let given = arguments["config"] {
            guard access(given, F_OK) == 0 else {
                throw CommandFailure(.missingInput, "no job file `\(given)`")
            }
            return given
        }
        let candidates = ["jobs.yaml", userJobFilePath, Composition.serviceJobFilePath]
        guard let found = candidates.first(where: { access($0, F_OK) == 0 }) else {
            let tried = candidates.map { "`\($0)`" }.joined(separator: ", ")
            throw CommandFailure(
                .missingInput, "no job file: tried \(tried)", "help: name one with --config FILE")
        }
        return found
    }

    /// The folder of this user's settings, `~/.config`.
    var configurationFolder: String {
        environment["XDG_CONFIG_HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? "\(home)/.config"
    }

    /// The path of the job file that was found, as every process can open it; empty if there is
    /// none.
    var foundJobFilePath: String {
        do throws(CommandFailure) {
            return absolute(try jobFilePath())
        } catch {
            return ""
        }
    }

    /// The path of this user's job file, whether it exists or not.
    var userJobFilePath: String { "\(configurationFolder)/clarity-jobs/jobs.yaml" }

    /// Returns a path with the home folder in place of `~`.
    func expanded(_ path: String) -> String {
        path.hasPrefix("~/") ? "\(home)/\(path.dropFirst(2))" : path
    }

    /// The time zones installed on this machine.
    var zones: SystemZones { SystemZones(environment: environment) }

    /// Returns whether this machine knows a time zone of this name.
    func hasZone(_ name: String) -> Bool { zones.zone(named: name) != nil }

    /// The kinds of jobs that a job file may name: those of CLARITY, and commands.
    static var catalogue: JobCatalogue {
        var catalogue = clarityCatalogue
        catalogue.kinds.append(.command)
        return catalogue
    }

    /// Parses job files on this machine.
    var jobFileReader: JobFileReader {
        JobFileReader(
            catalogue: Composition.catalogue, environment: environment,
            workingDirectory: workingDirectory)
    }

    /// The same for job files whose programs this user is to run.
    var runnersReader: JobFileReader {
        var reader = jobFileReader
        reader.runner = geteuid()
        return reader
    }

    // MARK: The programs beside this one

    /// Returns the path of a program of this package, which lies beside this one or in
    /// `../libexec/clarity-jobs`.
    func companion(_ name: String) throws(CommandFailure) -> String {
        let own = try ownProgram()
        guard let found = companionIfThere(name) else {
            throw CommandFailure(
                .configuration, "no program `\(name)` beside `\(own)`",
                "help: install the package's programs into one folder")
        }
        return found
    }

    /// Returns the path of a program of this package; `nil` if it is not installed.
    func companionIfThere(_ name: String) -> String? {
        ownPath.flatMap { program(name, beside: $0) }
    }

    /// Returns the path of this program.
    func ownProgram() throws(CommandFailure) -> String {
        guard let own = ownPath else {
            throw CommandFailure(.internalFault, "cannot find out where this program is")
        }
        return own
    }

    private func program(_ name: String, beside own: String) -> String? {
        let folder = own[..<(own.lastIndex(of: "/") ?? own.endIndex)]
        let candidates = ["\(folder)/\(name)", "\(folder)/../libexec/clarity-jobs/\(name)"]
        return candidates.first { access($0, X_OK) == 0 }
    }

    private var ownPath: String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        guard count > 0 else { return nil }
        return String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Returns the name of the environment variable with the master key, if the job file names one.
    func keyVariable(_ file: JobFile) throws(CommandFailure) -> String? {
        try readingSections { () throws(Failure) in try file.sections.key.variable }
    }

    /// The variable that tells a program the name of the key's variable. An attempt finds it in its
    /// order.
    static let keyPointer = "CLARITY_JOBS_KEY_VARIABLE"

    /// Replaces this process with another program of this package, which reports as `clarity-jobs`.
    ///
    /// - Parameters:
    ///   - file: the job file, for a program that may need the master key.
    ///   - order: the order that the program finds on descriptor 3.
    /// - Throws: `CommandFailure` if the program cannot be started.
    func exec(
        _ name: String, _ words: [String], for file: JobFile?, with order: AttemptOrder? = nil
    ) throws(CommandFailure) -> Never {
        let path = try companion(name)
        if let file, let account = file.account {
            let own = try accountEnvironment(of: account, file)
            clearenv()
            for (name, value) in own { setenv(name, value, 1) }
        } else if let file {
            for (name, value) in try keyedEnvironment(file) { setenv(name, value, 1) }
            let needless = try readingSections { () throws(Failure) in
                try order.map { order throws(Failure) in
                    try needlessSecrets(of: file, for: order)
                }
            }
            for name in needless ?? [] { unsetenv(name) }
        }
        var vector: [UnsafeMutablePointer<CChar>?] =
            (["clarity-jobs"] + words).map { strdup($0) }
        vector.append(nil)
        if let order { try OrderHandover(order).give() }
        execv(path, vector)
        let problem = SystemError().reason
        throw CommandFailure(.internalFault, "cannot start `\(path)`: \(problem)")
    }

    // MARK: Surroundings

    var home: String { HomeFolder.path(environment) }

    private var workingDirectory: String {
        guard let path = getcwd(nil, 0) else { return "/" }
        defer { free(path) }
        return String(cString: path)
    }

    /// Returns a path of the command line as an absolute path in its shortest form.
    ///
    /// A relative path counts from the folder in which this program was started.
    func absolute(_ path: String) -> String {
        PlainPath.shortest(path.hasPrefix("/") ? path : "\(workingDirectory)/\(path)")
    }
}

/// A time that the user gave in place of the present.
struct PresentTime {
    /// The value of the option.
    let text: String
    /// The name of the option.
    var option = "--now"
    var examples = "`2026-11-20T06:00:00Z` or `2026-11-20 06:00`"

    /// Parses the value: RFC 3339, or a date and time without an offset in the local zone.
    ///
    /// - Throws: `CommandFailure` (usage) for anything else, and for a time that the zone's clocks
    ///   skip or show twice.
    func instant(localZone: () throws(CommandFailure) -> Zone) throws(CommandFailure) -> Instant {
        if let instant = Instant(rfc3339: text) { return instant }
        // Parses the local time as if it were UTC; a date alone means midnight.
        let readings = ["Z", ":00Z", "T00:00:00Z"]
        guard let reading = readings.lazy.compactMap({ Instant(rfc3339: text + $0) }).first else {
            throw CommandFailure(
                .usage,
                "\(option) is a time such as \(examples), got `\(text)`")
        }
        let zone = try localZone()
        switch zone.resolve(CivilTime(reading.millisecondsSince1970)) {
        case .once(let instant): return instant
        case .twice(let earlier, let later):
            throw CommandFailure(
                .usage, "\(option) `\(text)` comes twice in \(zone.identifier)",
                "help: write `\(zone.text(earlier))` or `\(zone.text(later))`")
        case .skipped(let until):
            throw CommandFailure(
                .usage, "\(option) `\(text)` never comes in \(zone.identifier)",
                "help: its clocks are put forward to `\(zone.text(until))`")
        }
    }
}

extension Composition {
    /// Returns the time that an option names; `nil` if the option is not given.
    ///
    /// It may be a span before now (`1d`), `now`, `today` or `yesterday` with a time of day or without,
    /// a time of day (`03:30`, the last one), or as `PresentTime.instant`; by the machine's clock.
    ///
    /// - Throws: as `PresentTime.instant`.
    func time(_ option: String, isAhead: Bool = false) throws(CommandFailure) -> Instant? {
        guard let text = arguments[option] else { return nil }
        let now = clock.now
        if text == "now" { return now }
        if let span = Duration(text: text) { return isAhead ? now + span : now - span }
        let zone = try Composition.localZone(environment)
        func instant(_ text: String) throws(CommandFailure) -> Instant {
            try PresentTime(
                text: text, option: "--\(option)",
                examples: "`1d`, `\(isAhead ? "tomorrow" : "yesterday")`, `2026-11-20 06:00` or "
                    + "`2026-11-20T06:00:00Z`"
            ).instant { zone }
        }
        let words = [("today", 0), isAhead ? ("tomorrow", 1) : ("yesterday", -1)]
        let days = words.map { word, days in
            (word: word, date: String(zone.text(now + .seconds(days * 86_400)).prefix(10)))
        }
        if text.wholeMatch(of: /\d\d:\d\d(:\d\d)?/) != nil {
            let today = try instant("\(days[0].date) \(text)")
            return (today > now) == isAhead ? today : try instant("\(days[1].date) \(text)")
        }
        for day in days where text == day.word || text.hasPrefix("\(day.word) ") {
            return try instant(day.date + text.dropFirst(day.word.count))
        }
        return try instant(text)
    }

    /// Returns the last moment of the time that an option names: of a minute without its seconds, such as
    /// `20:56`, the end of that minute, but not after now.
    func end(of option: String) throws(CommandFailure) -> Instant? {
        guard let time = try time(option) else { return nil }
        let isMinute = arguments[option]?.wholeMatch(of: /(.*[ T])?\d\d:\d\d/) != nil
        let end = time + (isMinute ? .milliseconds(59_999) : .zero)
        return max(time, min(end, clock.now))
    }

    /// Returns this machine's local time zone.
    ///
    /// - Throws: `CommandFailure` (configuration) if the machine does not know the zone.
    static func localZone(
        _ environment: [String: String]
    ) throws(CommandFailure) -> Zone {
        let name = LocalZone.identifier(environment: environment)
        guard name != "UTC" else { return .utc }
        let zones = SystemZones(environment: environment)
        guard let bytes = zones.tzif(for: name) else {
            throw CommandFailure(
                .configuration,
                "\(zones.absence(of: "`\(name)`")) of this machine"
                    + (zones.hasZones ? "" : "; \(zones.remedy)"))
        }
        do throws(ZoneError) {
            return try Zone(identifier: name, tzif: bytes)
        } catch {
            throw CommandFailure(.configuration, error.description)
        }
    }
}
