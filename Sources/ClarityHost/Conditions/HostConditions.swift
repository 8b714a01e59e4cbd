public import ClarityScheduler
import ClaritySystem
import Synchronization

/// The conditions of the machine that this runs on.
///
/// What the kernel shows is read anew each time; what services know they are asked once, and tell
/// when it changes. Every answer names where it comes from. What is missing, unreadable or not
/// understood is unknown with the reason, never a "yes".
public final class HostConditions: ConditionMonitor {
    /// What people say about the machine, and which of its parts they ask for.
    public struct Settings: Sendable {
        public var interfaces = InterfaceRules()
        /// The load below which a machine is idle where nobody is logged in, in percent of its
        /// processors; `nil` asks for none where there is no logind either.
        public var idleLoadBelow: Int?
        /// The paths whose free space is told beside that of the state directory.
        public var storagePaths: [String] = []
        /// The files and folders that the job file names as sources.
        public var sourcePaths: [String] = []
        /// The pressure of which a rise is announced while attempts run, in percent; `nil` for none.
        public var pressure: Int?
        /// Whether anything depends on what the services of this machine know. To reach them takes
        /// libsystemd and what it needs: a fifth of all that a quiet `run --due` does.
        public var asksServices = true

        /// Creates settings that say nothing and ask for nothing.
        public init() {}
    }

    private struct Terms: Sendable {
        var settings: Settings
        var attempts = 0
        var events: EventThread?
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
    ///   - stateDirectory: The folder whose file system's free space is told, or would be once
    ///     it is made.
    ///   - checks: Who asks the checks.
    public convenience init(
        stateDirectory: String, settings: Settings = Settings(), checks: CheckRunner = CheckRunner()
    ) {
        let clock = SystemClock()
        self.init(
            root: "/", routes: .live, stateDirectory: stateDirectory, settings: settings,
            services: SystemServices(clock: clock), checks: checks, clock: clock)
    }

    /// Creates a monitor of a machine of which `proc` and `sys` are in `root`.
    init(
        root: String, routes: RouteSource, stateDirectory: String,
        settings: Settings = Settings(), services: SystemServices,
        checks: CheckRunner = CheckRunner(), clock: any WallClock
    ) {
        tree = HostTree(root: root)
        self.routes = routes
        self.stateDirectory = stateDirectory
        self.services = services
        storage = StorageProbe(clock: clock)
        self.checks = checks
        self.clock = clock
        terms = Mutex(Terms(settings: settings))
    }

    // MARK: What it works with

    /// Lets `events` listen for changes, of which `changes` told from then on are heard; without this
    /// it is `EventThread.shared`.
    public func listen(on events: EventThread) { terms.withLock { $0.events = events } }

    /// Takes note of how many attempts this process runs: their load does not make the machine busy,
    /// and while there are any a pressure that rises is heard of, for one of them may have to stop.
    public func attempts(are count: Int) {
        terms.withLock { terms in
            terms.attempts = count
            pressure.listen(above: count > 0 ? terms.settings.pressure : nil)
        }
    }

    /// Goes by other settings and asks other checks from now on.
    ///
    /// While attempts run, what was asked for before is told as well: they keep the constraints under
    /// which they were started.
    public func apply(_ settings: Settings, checks declared: [CheckDeclaration]) {
        terms.withLock { terms in
            let kept = terms.attempts > 0 ? terms.settings : nil
            terms.settings = settings
            terms.settings.storagePaths = Set(settings.storagePaths + (kept?.storagePaths ?? []))
                .sorted()
            terms.settings.asksServices = settings.asksServices || kept?.asksServices == true
        }
        checks.declare(declared)
    }

    /// Asks the services, and waits for them up to 250 ms; who has called it does not wait in
    /// `conditions`.
    public func prepare() { _ = answers(terms.withLock { $0.settings }) }

    private func answers(_ settings: Settings) -> ServiceAnswers {
        settings.asksServices ? services.answers() : ServiceAnswers { BusService($0) }
    }

    // MARK: What it knows

    /// The conditions now.
    ///
    /// The first call waits up to 250 ms for what services say; the others return at once, with what
    /// is known.
    public func conditions() -> Conditions {
        let now = clock.now
        let terms = terms.withLock { $0 }
        let settings = terms.settings
        let merged = MergedAnswers(
            kernel: KernelAnswers(tree, routes: routes, rules: settings.interfaces),
            services: answers(settings), now: now)
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
                uniqueKeysWithValues: settings.storagePaths.map { ($0, storage.free(at: $0)) }),
            checks: checks.answers,
            login: StateDirectory.hasLoginMark(in: stateDirectory)
                ? Conditions.Reading(true, source: stateDirectory)
                : .unknown("run `clarity-jobs auth login`"),
            source: source(settings.sourcePaths))
    }

    /// Whether a path is there and its file system answers; waits no longer than 250 ms.
    public func isThere(_ path: String) -> Bool { storage.free(at: path).value != nil }

    /// Whether one of the sources is there. Asked as free space is: a network file system that does
    /// not answer must not hold this thread.
    private func source(_ paths: [String]) -> Conditions.Reading<Bool> {
        guard !paths.isEmpty else { return .unknown("the job file names no source") }
        var missing: [String] = []
        for path in paths {
            let reading = storage.free(at: path)
            if reading.value != nil {
                return Conditions.Reading(true, source: path, isSampled: true)
            }
            missing.append(reading.source)
        }
        return .sampledUnknown(missing.joined(separator: "; "))
    }

    /// The conditions with the answers to these checks; waits for them as long as they may take.
    public func conditions(asking names: Set<String>) -> Conditions {
        let answers = checks.settle(names)
        var conditions = conditions()
        for (name, answer) in answers {
            conditions.checks[name] = answer
            // It was asked for these conditions, whatever the clock that they are judged by shows.
            conditions.checks[name]?.at = nil
        }
        return conditions
    }

    public func ask(_ names: Set<String>) { checks.ask(names) }

    /// Ends what is being asked; nothing is asked from now on.
    public func end() { checks.end() }

    /// An element whenever something is announced that conditions may depend on, or the wall clock is
    /// set; announcements that come faster than they are taken are one element.
    ///
    /// Nothing is polled. Free storage, a load and a pressure that falls are announced by nobody, and
    /// neither is anything in a sandbox without netlink: a caller that must not miss a change asks
    /// `conditions()` when a decision is due.
    public func changes() -> AsyncStream<Void> {
        let terms = terms.withLock { $0 }
        guard let events = terms.events ?? .shared else { return AsyncStream { _ in } }
        return events.elements(
            of: KernelEvents.sources() + pressure.sources()
                + services.sources() + [checks.announcement()].compactMap(\.self))
    }

    /// What is known, how it could be known better, and what this process can hear of.
    ///
    /// Asks these checks, and waits for them as long as they may take.
    public func diagnosis(asking names: Set<String>) -> ConditionDiagnosis {
        let conditions = conditions(asking: names)
        let threshold = terms.withLock { $0.settings.pressure }
        return ConditionDiagnosis(
            conditions, services: answers(terms.withLock { $0.settings }),
            kernel: KernelEvents.standings() + PressureWatch.standings(above: threshold ?? 50))
    }
}
