import ClarityHost
import ClarityJobs
import ClarityScheduler
import ClaritySystem
@preconcurrency import Glibc

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
        let view = view(of: try account(named: name, in: file), in: file)
        console.showTimes(
            inZone: SourceCommands.timeZone(in: view), environment: environment, clock: clock)
        return view
    }

    /// The account of `--account`, if the option has an account's id.
    var namedAccount: AccountID? { arguments["account"].flatMap { AccountID($0) } }

    /// Returns what a command for one account sees of the job file.
    func view(of account: AccountDeclaration, in file: JobFile) -> JobFile {
        var view = file.view(of: account)
        view.settings["backend.limits_folder"] = limitsFolder(file)
        return view
    }

    /// Returns the job file for what plans the jobs of all accounts, or those of `--account` alone.
    func jobFileToRun(
        remembering memory: AccountMemory? = nil
    ) throws(CommandFailure) -> JobFile {
        arguments["account"] == nil ? try wholeJobFile(remembering: memory) : try jobFile()
    }

    /// Finds, parses and checks the job file. Its accounts' jobs are those of `JobFile.groups`.
    func wholeJobFile(
        remembering memory: AccountMemory? = nil
    ) throws(CommandFailure) -> JobFile {
        let path = try jobFilePath()
        try requireReadable(path)
        do throws(JobFileFaults) {
            let file = try jobFileReader.read(fileAt: path, remembering: memory)
            // People see times in the zone of the account's days.
            console.showTimes(
                inZone: SourceCommands.timeZone(in: file), environment: environment, clock: clock)
            return file
        } catch {
            throw CommandFailure(.faultyInput, text: error.description)
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
        let suggestion = didYouMean(name, among: accounts.map(\.id.rawValue))
        throw CommandFailure(.usage, "no account `\(name)` in the job file\(suggestion)")
    }

    /// Returns the URL of the backend's API; a job file with only commands need not have one.
    func backendURL(_ file: JobFile) throws(CommandFailure) -> String {
        if let url = file.settings["backend.url"] { return url }
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
    private var zones: SystemZones { SystemZones(environment: environment) }

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

    // MARK: The state

    /// Returns the path of the state directory, whether it exists or not.
    func statePath(_ file: JobFile) -> String {
        if let given = arguments["state"] { return absolute(given) }
        if let folder = environment["STATE_DIRECTORY"]?.split(separator: ":").first {
            return String(folder)
        }
        if let folder = file.stateDirectory { return folder }
        let folder = environment["XDG_STATE_HOME"].flatMap { $0.isEmpty ? nil : $0 }
        let own = "\(folder ?? "\(home)/.local/state")/clarity-jobs"
        return isOfService && access(own, F_OK) != 0 ? Composition.serviceStatePath : own
    }

    /// The job file and the state directory of a service with a user of its own (docs/install.md).
    static let serviceJobFilePath = "/etc/clarity-jobs/jobs.yaml"
    static let serviceStatePath = "/var/lib/clarity-jobs"

    /// Whether the job file is that of an installed service.
    ///
    /// The unit names the service's state directory by a variable, which a person's command lacks.
    var isOfService: Bool {
        foundJobFilePath == Composition.serviceJobFilePath
            && access(Composition.serviceStatePath, F_OK) == 0
    }

    /// Whether this process belongs to the user of an installed service, who owns its state
    /// directory.
    var isUserOfService: Bool {
        var status = stat()
        return stat(Composition.serviceStatePath, &status) == 0 && status.st_uid == geteuid()
            && geteuid() != 0
    }

    /// Returns the folder of an account's health data, whether it exists or not.
    func dataPath(of account: AccountID, _ file: JobFile) -> String {
        StateDirectory.dataFolder(ofAccount: account.rawValue, in: statePath(file))
    }

    /// Returns the folder with the limits of the backend, which hold for all accounts together.
    private func limitsFolder(_ file: JobFile) -> String { "\(statePath(file))/backend" }

    /// Returns the folder of the health data that this command works with: that of the account of
    /// `--account`, or else the state directory.
    ///
    /// - Throws: `CommandFailure` if the job file has accounts and none is named.
    func dataPath(_ file: JobFile) throws(CommandFailure) -> String {
        if let account = file.account { return dataPath(of: account.id, file) }
        guard let accounts = file.accounts else { return statePath(file) }
        throw CommandFailure(
            .usage,
            "the job file has \(counted(accounts.count, "accounts")), and each has its own data",
            "help: name one with --account ID; `clarity-jobs accounts list` lists them")
    }

    /// Returns the folder whose databases are backed up together: that of the account of
    /// `--account`, or else the state directory.
    func backedUpPath(_ file: JobFile) -> String {
        file.account.map { dataPath(of: $0.id, file) } ?? statePath(file)
    }

    /// Returns the same folder for a command that writes into it.
    func ownBackups(_ file: JobFile) throws(CommandFailure) -> String {
        _ = try ownState(file)
        return backedUpPath(file)
    }

    /// Returns the folder of the health data for a command that writes into it, as `ownState` does.
    func ownData(_ file: JobFile) throws(CommandFailure) -> String {
        _ = try ownState(file)
        return try dataPath(file)
    }

    /// Returns the path of the health data, whether it exists or not.
    func healthPath(_ file: JobFile) throws(CommandFailure) -> String {
        "\(try dataPath(file))/health.db"
    }

    /// Returns the path of the file that a login creates: of any account, if there are accounts.
    func loginMark(_ file: JobFile) -> String {
        file.accounts == nil
            ? StateDirectory.loginMark(in: statePath(file))
            : StateDirectory.accountsSignal(in: statePath(file))
    }

    /// Returns whether a database of the state directory once had content and has none now.
    func isLost(_ path: String) -> Bool { DatabaseFile(path).loss != nil }

    /// Opens the history for reading, and creates nothing. Root may read another user's.
    func history(_ file: JobFile) throws(CommandFailure) -> RunHistory {
        let path = geteuid() == 0 ? statePath(file) : try ownState(file)
        do throws(RunStoreError) {
            return try RunHistory(of: file, inDirectory: path, environment: environment)
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Opens the store for writing, and creates it and its folder if they do not exist.
    func store(_ file: JobFile) throws(CommandFailure) -> SharedHistory {
        _ = try ownState(file)
        return try askingStore { () throws(RunStoreError) in
            try sharedHistory(file, isLoop: false)
        }
    }

    /// The same for a user who owns the state directory.
    func sharedHistory(_ file: JobFile, isLoop: Bool) throws(RunStoreError) -> SharedHistory {
        let directory: StateDirectory
        do throws(StateDirectoryError) {
            directory = try StateDirectory(path: statePath(file))
        } catch {
            throw RunStoreError(error)
        }
        return try SharedHistory(of: file, in: directory, environment: environment, isLoop: isLoop)
    }

    /// Checks that the state is in files, for a command that works on files alone.
    ///
    /// - Parameter help: what to do where it is not.
    func requireFiles(_ file: JobFile, help: String) throws(CommandFailure) {
        guard let server = file.server else { return }
        throw CommandFailure(
            .configuration,
            "`\(arguments.path.joined(separator: " "))` works on files, and the state is in "
                + "`\(server)`", "help: \(help)")
    }

    // MARK: The engine

    /// Returns the jobs to plan, each with the options that its worker needs.
    func jobs(_ file: JobFile) -> [Job] { groups(file).flatMap(\.wholeJobs) }

    /// Returns the largest number of attempts at the same time; 2 by default.
    func maxParallel(_ file: JobFile) -> Int { file.maxParallel ?? 2 }

    /// Returns the jobs to plan as a set.
    ///
    /// - Parameter former: the set that this one replaces.
    func jobSet(_ file: JobFile, replacing former: JobSet? = nil) -> JobSet {
        JobSet(groups(file), replacing: former)
    }

    private func groups(_ file: JobFile) -> [JobGroup] {
        let state = statePath(file)
        let common = [
            "state.directory": StateDirectory.dataFolder(
                ofAccount: JobGroup.accountMark, in: state),
            "backend.limits_folder": limitsFolder(file),
        ]
        return file.groups.map { group in
            var group = group
            group.common = group.account == nil ? ["state.directory": state] : common
            return group
        }
    }

    func planner(
        _ file: JobFile, owner: String, scope: Planner.Scope
    ) -> Planner {
        Planner(
            jobs: jobSet(file), owner: owner,
            maxParallel: maxParallel(file), scope: scope,
            retention: file.retention, boot: SystemClock().boot,
            seed: UInt64.random(in: .min ... .max))
    }

    func scheduler(
        _ planner: Planner, _ inForce: @escaping @Sendable () -> JobFile, _ history: SharedHistory,
        _ monitor: HostConditions, on events: EventThread, observer: @escaping Scheduler.Observer,
        progress: @escaping Scheduler.ProgressObserver = { _, _, _ in }
    ) throws(CommandFailure) -> Scheduler {
        let clock = EventClock(events)
        let lock = history.leaseLock.descriptor
        let process = ProcessWorker(
            executable: [try companion("clarity-jobs-worker"), "attempt"],
            environment: workerEnvironment(inForce), leaseLock: lock)
        let worker = WorkerByKind(
            [
                .command: CommandWorker(
                    environment: commandEnvironment(inForce()), leaseLock: lock, clock: clock),
                .notify: NoticeWorker(worker: process) { account throws(CommandFailure) in
                    var file = inForce()
                    if let account {
                        file = file.view(of: try self.account(named: account.rawValue, in: file))
                    }
                    let accounts = Set([account].compactMap(\.self))
                    return try historyNotices(file, monitor.conditions(of: accounts))
                },
            ],
            others: process,
            attempts: { monitor.attempts(are: $0) })
        monitor.listen(on: events)
        // Prepares the conditions here, because a decision holds the store while it is made.
        monitor.prepare()
        return Scheduler(
            planner: planner, store: history.store, worker: worker, monitor: monitor,
            clock: clock, observer: observer, progress: progress)
    }

    /// Returns the monitor of this machine's conditions, with the settings of the job file.
    ///
    /// - Parameter asksServices: whether to ask the system services; by default only if a job
    ///   depends on one.
    func conditions(_ file: JobFile, asksServices: Bool? = nil) -> HostConditions {
        var settings = hostSettings(file)
        settings.asksServices = asksServices ?? settings.asksServices
        return HostConditions(
            stateDirectory: statePath(file), settings: settings, checks: checks(file))
    }

    /// Returns what the job file says about the machine, and where each account's data is.
    func hostSettings(_ file: JobFile) -> HostConditions.Settings {
        var settings = HostConditions.Settings(file)
        let state = statePath(file)
        let paths = Dictionary(
            uniqueKeysWithValues: file.groups.compactMap { group in
                group.account.map { ($0, group.sourcePaths) }
            })
        settings.ofAccount = { account in
            (
                StateDirectory.dataFolder(ofAccount: account.rawValue, in: state),
                paths[account] ?? []
            )
        }
        if let server = file.server(environment),
            file.distinctJobs.contains(where: { $0.constraints.contains(.login) })
        {
            let logins = ServerLogins(server)
            settings.logins = { logins.now() }
            settings.onlyAccount = HealthServer.name(of: nil)
        }
        return settings
    }

    /// Returns the runner of the job file's checks.
    ///
    /// Where root looks at the state of another user, it asks none: that user may have written what
    /// they run.
    private func checks(_ file: JobFile) -> CheckRunner {
        let isOthers = geteuid() == 0 && StateDirectory.otherOwner(of: statePath(file)) != nil
        let questions = isOthers ? [] : file.questions
        let worker =
            questions.isEmpty
            ? nil : ownPath.flatMap { program("clarity-jobs-worker", beside: $0) }
        return CheckRunner(
            questions, urlProgram: worker.map { [$0, "probe"] },
            environment: commandEnvironment(file),
            absent: isOthers ? "root runs no check for another user" : nil, clock: clock)
    }

    /// Returns the environment for the programs of commands and checks.
    ///
    /// It lacks keys and credentials, which only the worker receives.
    func commandEnvironment(_ file: JobFile) -> [String: String] {
        var keyVariables = file.keyVariables
        if let named = environment[Composition.keyPointer] { keyVariables.insert(named) }
        return environment.filter { name, _ in
            !name.hasPrefix("CLARITY_JOBS_") && name != "CREDENTIALS_DIRECTORY"
                && !keyVariables.contains(name)
        }
    }

    /// Returns a watch on the sources of the job file: files, and folders in which each new file
    /// counts.
    func sourceWatch(_ file: JobFile) -> FileWatch {
        // A path is either a file that may come and go, or a folder whose files are read.
        FileWatch(paths: [], folders: Set(file.groups.flatMap(\.sourcePaths)).sorted())
    }

    /// Returns the current state of the sources if a job waits for one of them to change.
    ///
    /// The scheduler compares the states to find out what changed while nobody watched.
    func sourcesSeen(_ file: JobFile, _ monitor: HostConditions) -> [Planner.Event] {
        guard file.distinctJobs.contains(where: { $0.events.contains(.sourceChanged) }) else {
            return []
        }
        return [.sourcesSeen(sourceWatch(file).fingerprints(where: monitor.isThere))]
    }

    /// The files that determine the machine's time zone; empty if `TZ` is set.
    var localZonePaths: [String] {
        environment["TZ"] == nil ? ["/etc/localtime", "/etc/timezone"] : []
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
    func keyVariable(_ file: JobFile) -> String? { file.settings["key.variable"] }

    /// The variable that tells a program the name of the key's variable. An attempt finds it in its
    /// order.
    static let keyPointer = "CLARITY_JOBS_KEY_VARIABLE"

    /// Replaces this process with another program of this package, which reports as `clarity-jobs`.
    ///
    /// - Parameter file: the job file, for a program that may need the master key.
    /// - Throws: `CommandFailure` if the program cannot be started.
    func exec(
        _ name: String, _ words: [String], for file: JobFile?
    ) throws(CommandFailure) -> Never {
        let path = try companion(name)
        if let file, let account = file.account {
            let own = try accountEnvironment(of: account, file)
            clearenv()
            for (name, value) in own { setenv(name, value, 1) }
        } else if let file {
            for (name, value) in try keyedEnvironment(file) { setenv(name, value, 1) }
        }
        var vector: [UnsafeMutablePointer<CChar>?] =
            (["clarity-jobs"] + words).map { strdup($0) }
        vector.append(nil)
        execv(path, vector)
        let problem = String(cString: strerror(errno)).lowercased()
        throw CommandFailure(.internalFault, "cannot start `\(path)`: \(problem)")
    }

    // MARK: Surroundings

    private var home: String { HomeFolder.path(environment) }

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
