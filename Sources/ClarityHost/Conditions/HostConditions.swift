public import ClarityScheduler
import Platform
import Synchronization

/// The conditions of this machine.
///
/// `MergedAnswers` combines the answers of the kernel and of system services; `CheckRunner` asks
/// the checks of the job file. The kernel's files are read anew each time. Services announce
/// changes of their answers. Every answer names its source. If something is missing, unreadable or
/// not understood, the answer is unknown, with the reason, and never a yes.
public final class HostConditions: ConditionMonitor {
    /// What the job file says about the machine, and which conditions it needs.
    public struct Settings: Sendable {
        public var interfaces = InterfaceRules()
        /// The load below which a machine is idle if nobody is logged in, in percent of its
        /// processors. If it is `nil`, the threshold is `LoadProbe.idleBelow`, and the load does
        /// not count without logind.
        public var idleLoadBelow: Int?
        /// The paths whose free space is measured, in addition to the state directory.
        public var storagePaths: [String] = []
        /// The files and folders that the job file names as sources.
        public var sourcePaths: [String] = []
        /// The folder of an account's health data, and its sources.
        public var ofAccount: @Sendable (AccountID) -> (folder: String, sources: [String]) = { _ in
            ("", [])
        }
        /// Asks a server for the names of the accounts that are logged in; `nil` if it does not
        /// answer. Where the health data is in files, a mark beside it tells.
        public var logins: (@Sendable () -> Set<String>?)?
        /// What a server calls the account of a job file without accounts.
        public var onlyAccount = ""
        /// The pressure above which a rise is announced while attempts run, in percent; `nil` for
        /// none.
        public var pressure: Int?
        /// Whether anything depends on the services of this machine. To reach them, the program
        /// loads libsystemd and its dependencies, which is a fifth of the work of a `run --due`
        /// that starts nothing.
        public var asksServices = true

        /// Creates settings without rules, paths or thresholds, which ask the services.
        public init() {}
    }

    private struct Terms: Sendable {
        var settings: Settings
        var attempts = 0
        var events: EventThread?
        /// What the server said when it was asked before the decision.
        var logins: Logins?
        /// Where the next look for the sources of accounts begins; `nil` for the first of them.
        var nextSource: AccountID?
    }

    private let tree: HostTree
    private let routes: RouteSource
    private let stateDirectory: String
    private let services: SystemServices
    private let storage: StorageProbe
    private let checks: CheckRunner
    private let load = RestingLoad()
    private let pressure = PressureWatch()
    private let clock: any WallClock
    private let terms: Mutex<Terms>

    /// Creates a monitor of this machine.
    ///
    /// - Parameters:
    ///   - stateDirectory: The folder whose file system's free space is measured. The folder need
    ///     not exist yet.
    ///   - settings: What the job file says and needs.
    ///   - checks: The runner that asks the checks.
    public convenience init(
        stateDirectory: String, settings: Settings = Settings(), checks: CheckRunner = CheckRunner()
    ) {
        let clock = SystemClock()
        self.init(
            root: "/", routes: .live, stateDirectory: stateDirectory, settings: settings,
            services: SystemServices(clock: clock), checks: checks, clock: clock)
    }

    /// Creates a monitor of a machine whose `proc` and `sys` are in `root`.
    init(
        root: String, routes: RouteSource, stateDirectory: String,
        settings: Settings = Settings(), services: SystemServices,
        checks: CheckRunner = CheckRunner(), storage: StorageProbe? = nil, clock: any WallClock
    ) {
        tree = HostTree(root: root)
        self.routes = routes
        self.stateDirectory = stateDirectory
        self.services = services
        self.storage = storage ?? StorageProbe(clock: clock)
        self.checks = checks
        self.clock = clock
        terms = Mutex(Terms(settings: settings))
    }

    // MARK: Configuration

    /// Makes `events` listen for changes, for the streams that `changes` returns from now on.
    /// Without this call they use `EventThread.shared`.
    public func listen(on events: EventThread) { terms.withLock { $0.events = events } }

    /// Sets how many attempts this process runs. Their load does not make the machine busy. While
    /// there are any, a rise of pressure is announced, because an attempt may have to stop for it.
    public func attempts(are count: Int) {
        terms.withLock { terms in
            terms.attempts = count
            pressure.listen(above: count > 0 ? terms.settings.pressure : nil)
        }
    }

    /// Replaces the settings and the checks.
    ///
    /// While attempts run, the storage paths, services and pressure of the previous settings stay
    /// in use as well: attempts keep the constraints with which they started.
    ///
    /// - Parameter environment: that of the checks' commands; `nil` leaves it as it is.
    public func apply(
        _ settings: Settings, checks declared: [CheckDeclaration],
        environment: [String: String]? = nil
    ) {
        terms.withLock { terms in
            let kept = terms.attempts > 0 ? terms.settings : nil
            terms.settings = settings
            terms.logins = nil
            terms.settings.storagePaths = Set(settings.storagePaths + (kept?.storagePaths ?? []))
                .sorted()
            terms.settings.asksServices = settings.asksServices || kept?.asksServices == true
            terms.settings.pressure = [settings.pressure, kept?.pressure].compactMap(\.self).min()
            if terms.attempts > 0 { pressure.listen(above: terms.settings.pressure) }
        }
        checks.declare(declared, environment: environment)
    }

    /// Asks the services and waits for them, up to 250 ms, and asks the server who is logged in, so
    /// that `conditions` does not wait for them later.
    public func prepare() {
        let settings = terms.withLock { $0.settings }
        _ = answers(settings)
        guard let ask = settings.logins else { return }
        let logins = Logins(names: ask())
        terms.withLock { $0.logins = logins }
    }

    private func answers(_ settings: Settings) -> ServiceAnswers {
        settings.asksServices ? services.answers() : ServiceAnswers { BusService($0) }
    }

    // MARK: Conditions

    /// Returns the current conditions.
    ///
    /// The first call waits for the services, up to 250 ms. Later calls use what is known by then,
    /// and who was logged in at the last `prepare()`.
    /// Storage paths and sources whose file systems do not answer delay a call by at most 500 ms
    /// (see `StorageProbe`).
    public func conditions(of accounts: Set<AccountID> = []) -> Conditions {
        let now = clock.now
        let terms = terms.withLock { $0 }
        let settings = terms.settings
        let merged = MergedAnswers(
            kernel: KernelAnswers(tree, routes: routes, rules: settings.interfaces),
            services: answers(settings), now: now)
        let logins = settings.logins.map { ask in terms.logins ?? Logins(names: ask()) }
        // All paths together are waited for as long as one of them, but for the last.
        let end = clock.elapsed + StorageProbe.patience
        let load = {
            self.load.idle(
                measured: LoadProbe(tree: self.tree).idle(
                    below: settings.idleLoadBelow ?? LoadProbe.idleBelow),
                attempts: terms.attempts, at: now)
        }
        return Conditions(
            connected: merged.connected, metered: merged.metered, roaming: merged.roaming,
            externalPower: merged.externalPower, battery: merged.battery,
            lowPower: merged.lowPower,
            idle: merged.idle(hasRule: settings.idleLoadBelow != nil, load: load),
            storageFreeBytes: StorageProbe.state(stateDirectory),
            pressurePercent: merged.kernel.pressurePercent,
            storage: Dictionary(
                settings.storagePaths.map {
                    ($0, storage.free(at: $0, isPatient: clock.elapsed < end))
                },
                uniquingKeysWith: { first, _ in first }),
            checks: checks.answers,
            login: login(stateDirectory, logins, settings.onlyAccount),
            source: source(settings.sourcePaths, until: end),
            accounts: Dictionary(
                uniqueKeysWithValues: accounts.map { account in
                    let own = settings.ofAccount(account)
                    return (
                        account,
                        Conditions.OfAccount(
                            login: login(
                                own.folder, logins, account.rawValue, "--account \(account) "),
                            source: source(own.sources, until: end))
                    )
                }))
    }

    /// What a server said about logins.
    private struct Logins: Sendable {
        var names: Set<String>?
    }

    private func login(
        _ folder: String, _ logins: Logins?, _ name: String, _ option: String = ""
    ) -> Conditions.Reading<Bool> {
        let isLoggedIn: Bool
        if let logins {
            guard let names = logins.names else {
                return .unknown("the database does not say who is logged in")
            }
            isLoggedIn = names.contains(name)
        } else {
            isLoggedIn = StateDirectory.hasLoginMark(in: folder)
        }
        return isLoggedIn
            ? Conditions.Reading(true, source: logins == nil ? folder : "the database")
            : .unknown("run `clarity-jobs \(option)auth login`")
    }

    /// Returns whether a path exists and its file system answers; waits at most 250 ms.
    public func isThere(_ path: String) -> Bool { storage.free(at: path).value != nil }

    /// Returns whether one of the sources exists. It asks for free space, because a network file
    /// system that does not answer must not block this thread.
    private func source(_ paths: [String], until end: Duration) -> Conditions.Reading<Bool> {
        guard !paths.isEmpty else { return .unknown("the job file names no source") }
        var missing: [String] = []
        for path in paths {
            let reading = storage.free(at: path, isPatient: clock.elapsed < end)
            if reading.value != nil {
                return Conditions.Reading(true, source: path, isSampled: true)
            }
            missing.append(reading.source)
        }
        return .sampledUnknown(missing.joined(separator: "; "))
    }

    /// Returns those of the accounts of which a source exists on this machine.
    ///
    /// Waits for file systems for 250 ms and no longer, but for the last path; the next call begins
    /// where this one stopped waiting. What was not waited for is as it was known last.
    public func withSources(_ accounts: Set<AccountID>) -> Set<AccountID> {
        let (settings, next) = terms.withLock { ($0.settings, $0.nextSource) }
        let end = clock.elapsed + StorageProbe.patience
        let all = accounts.sorted()
        let first = all.firstIndex { account in next.map { account >= $0 } ?? true } ?? 0
        var (reached, unasked) = (Set<AccountID>(), AccountID?.none)
        for account in all[first...] + all[..<first] {
            let isPatient = clock.elapsed < end
            if !isPatient { unasked = unasked ?? account }
            let isThere = settings.ofAccount(account).sources.contains {
                storage.free(at: $0, isPatient: isPatient).value != nil
            }
            if isThere { reached.insert(account) }
        }
        terms.withLock { $0.nextSource = unasked }
        return reached
    }

    /// Asks these checks and returns the conditions with their answers. Blocks for as long as the
    /// checks may take.
    public func conditions(
        asking names: Set<String>, of accounts: Set<AccountID> = []
    ) -> Conditions {
        let answers = checks.settle(names)
        var conditions = conditions(of: accounts)
        for (name, answer) in answers {
            conditions.checks[name] = answer
            // The answer was given for these conditions, so it has no age, whichever clock they are
            // judged by.
            conditions.checks[name]?.at = nil
        }
        return conditions
    }

    public func ask(_ names: Set<String>) { checks.ask(names) }

    /// Kills the checks that are being asked, and asks none from now on.
    public func end() { checks.end() }

    /// Returns a stream with an element whenever a change is announced on which conditions may
    /// depend, or the wall clock is set. Announcements that come before an element is taken are one
    /// element.
    ///
    /// Nothing is polled. Nothing announces free storage, the load, a fall of pressure, or any
    /// change in a sandbox without netlink. A caller that must not miss a change calls
    /// `conditions()` when a decision is due.
    public func changes() -> AsyncStream<Void> {
        let terms = terms.withLock { $0 }
        guard let events = terms.events ?? .shared else { return AsyncStream { _ in } }
        return events.elements(
            of: KernelEvents.sources() + pressure.sources()
                + services.sources() + [checks.announcement()].compactMap(\.self))
    }

    /// Returns the conditions, how to know more, and which changes are announced to this process.
    ///
    /// Asks these checks and waits for them, for as long as they may take.
    public func diagnosis(asking names: Set<String>) -> ConditionDiagnosis {
        let conditions = conditions(asking: names)
        let threshold = terms.withLock { $0.settings.pressure }
        return ConditionDiagnosis(
            conditions, services: answers(terms.withLock { $0.settings }),
            kernel: KernelEvents.states() + PressureWatch.states(above: threshold ?? 50))
    }
}

/// The load of the machine without the load of this program's own attempts.
///
/// The two cannot be separated, so while attempts run, the load from before them counts. Otherwise
/// a job that wants an idle machine would stop itself.
final class RestingLoad: Sendable {
    /// How old the load from before may be when attempts are first seen.
    static let longestRest: Duration = .seconds(5 * 60)

    private struct State {
        var atRest: (reading: Conditions.Reading<Bool>, at: Instant)?
        var isAtRest = true
    }

    private let state = Mutex(State())

    /// Returns whether the machine is idle, from the current measurement and the number of attempts
    /// that this process runs.
    func idle(
        measured: Conditions.Reading<Bool>, attempts: Int, at now: Instant
    ) -> Conditions.Reading<Bool> {
        state.withLock { state in
            guard attempts > 0 else {
                var reading = measured
                reading.at = now
                state = State(atRest: (reading, now))
                return measured
            }
            if state.isAtRest {
                state.isAtRest = false
                // A load from hours before says nothing about the machine now.
                if let last = state.atRest,
                    last.at > now || now - last.at > RestingLoad.longestRest
                {
                    state.atRest = nil
                }
            }
            return state.atRest?.reading ?? measured
        }
    }
}

/// The conditions of a machine, with remedies for those that are not known well.
public struct ConditionDiagnosis: Sendable {
    public let conditions: Conditions
    /// Remedies, by the condition's name in a trace. A condition that is known as well as possible
    /// has none.
    public let remedies: [String: String]
    public let subscriptions: [ChangeSubscription]

    init(
        _ conditions: Conditions, services: ServiceAnswers, kernel: [ChangeSubscription]
    ) {
        self.conditions = conditions
        remedies = ConditionDiagnosis.remedies(conditions, services)
        subscriptions =
            kernel
            + [
                ChangeSubscription("NetworkManager", services.metered),
                ChangeSubscription("ModemManager", services.roaming),
                ChangeSubscription("UPower", services.onBattery),
                ChangeSubscription("power-profiles-daemon", services.lowPower),
                ChangeSubscription("logind", services.people),
            ]
    }

    private static func remedies(
        _ conditions: Conditions, _ services: ServiceAnswers
    ) -> [String: String] {
        var remedies: [String: String] = [:]
        if services.connectivity.value == nil, conditions.connected.value == true {
            remedies["connected"] =
                "only NetworkManager, or an address in `conditions: { probe: URL }`, tells a "
                + "captive portal"
        }
        if conditions.connected.value == true {
            switch (conditions.metered.value, services.metered.value) {
            case (nil, _):
                remedies["metered"] = network("NetworkManager", "unmetered")
            case (_, .guessYes), (_, .guessNo):
                remedies["metered"] =
                    "it is a guess until somebody sets `connection.metered` with nmcli(1)"
            default: break
            }
            if conditions.roaming.value == nil {
                remedies["roaming"] = network("ModemManager", "roaming")
            }
        }
        let power = "run UPower, or a driver that tells the `status` of the battery"
        if conditions.externalPower.value == nil { remedies["external_power"] = power }
        if conditions.battery.value == nil { remedies["battery"] = power }
        if conditions.idle.value == nil {
            remedies["idle"] =
                "run systemd-logind, or say from which load on the machine is busy: "
                + "`conditions: { idle: { load_below: 25% } }`"
        }
        if conditions.pressurePercent.value == nil {
            remedies["pressure_percent"] = "boot a kernel with CONFIG_PSI, and with `psi=1`"
        }
        return remedies
    }

    private static func network(_ service: String, _ nature: String) -> String {
        "run \(service), or say what the interface is: "
            + "`conditions: { interfaces: { wlan0: \(nature) } }`"
    }
}

extension ChangeSubscription {
    fileprivate init<Value>(_ subject: String, _ answer: ServiceAnswer<Value>) {
        self.init(subject: subject, fault: answer.reason.isEmpty ? nil : answer.reason)
    }
}
