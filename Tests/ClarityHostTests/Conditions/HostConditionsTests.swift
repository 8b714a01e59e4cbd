import ClarityScheduler
import Platform
import ClarityTestSupport
import Glibc
import Synchronization
import Testing

@testable import ClarityHost

@Suite struct HostConditionsTests {
    @Test func `a machine that shows nothing has no answer but the ones that follow from it`()
        throws
    {
        let captured = try CapturedTree([:])
        // No folder can exist below a file.
        let impossible = "/dev/null/state"

        let conditions = captured.conditions(stateDirectory: impossible)

        let noBus = CapturedTree.services().answers().people.reason
        #expect(noBus != "")
        #expect(
            conditions
                == Conditions(
                    connected: .unknown("rtnetlink: none of a captured machine"),
                    metered: .unknown("rtnetlink: none of a captured machine"),
                    roaming: .unknown("rtnetlink: none of a captured machine"),
                    externalPower: .init(true, source: "no battery in /sys/class/power_supply"),
                    battery: .init(.absent, source: "no battery in /sys/class/power_supply"),
                    lowPower: .init(
                        false, source: "neither power-profiles-daemon nor a platform profile"),
                    idle: .sampledUnknown(noBus),
                    storageFreeBytes: .sampledUnknown("\(impossible): Not a directory"),
                    pressurePercent: .sampledUnknown(
                        "/proc/pressure/cpu: No such file or directory"),
                    login: .unknown("run `clarity-jobs auth login`"),
                    source: .unknown("the job file names no source")))
    }

    @Test func `an account has a source if one of its paths exists`() throws {
        let monitor = try CapturedTree([:]).monitor()
        var settings = HostConditions.Settings()
        let sources = ["x": ["/no", "/"], "y": ["/no"], "z": []]
        settings.ofAccount = { ("", sources[$0.rawValue] ?? []) }
        monitor.apply(settings, checks: [])

        let found = monitor.withSources(Set(["x", "y", "z"].compactMap { AccountID($0) }))

        #expect(found.map(\.rawValue) == ["x"])
    }

    /// A machine with four accounts: the sources of three are on file systems that hang.
    private func hangingMachine(
        _ looks: @escaping @Sendable (String) -> Void
    ) -> (monitor: HostConditions, accounts: Set<AccountID>) {
        let clock = ManualClock(.noon)
        let hanging = StorageProbe(
            clock: clock,
            measure: { path in
                clock.advance(by: StorageProbe.patience)
                looks(path)
                return .sampledUnknown("it does not answer")
            }, atOnce: { $0 == "/z" ? .init(1, source: "/z") : nil })
        var settings = HostConditions.Settings()
        settings.ofAccount = { ("", ["/\($0)"]) }
        let monitor = HostConditions(
            root: "/", routes: .none("none"), stateDirectory: "/", settings: settings,
            services: CapturedTree.services(), storage: hanging, clock: clock)
        return (monitor, Set(["a", "b", "c", "z"].compactMap { AccountID($0) }))
    }

    @Test func `sources that hang hide none that is there, and are asked in turn`() {
        let looks = Mutex<[String]>([])
        let (monitor, accounts) = hangingMachine { path in looks.withLock { $0.append(path) } }

        for _ in 0..<4 { #expect(monitor.withSources(accounts).map(\.rawValue) == ["z"]) }

        #expect(looks.withLock(\.self) == ["/a", "/b", "/c", "/a"])
    }

    @Test func `the accounts' sources are waited for together, not one after the other`() {
        let looks = Mutex(0)
        let (monitor, accounts) = hangingMachine { _ in looks.withLock { $0 += 1 } }

        let found = monitor.conditions(of: accounts).accounts

        #expect(looks.withLock(\.self) == 1)
        #expect(found.filter { $1.source.value == true }.map(\.key.rawValue) == ["z"])
    }

    @Test func `a path that a reload drops is measured until the attempts end`() throws {
        let monitor = try CapturedTree([:]).monitor()
        var settings = HostConditions.Settings()
        settings.storagePaths = ["/"]
        monitor.attempts(are: 1)
        monitor.apply(settings, checks: [])

        settings.storagePaths = ["/tmp"]
        monitor.apply(settings, checks: [])
        let during = monitor.conditions().storage.keys
        monitor.attempts(are: 0)
        monitor.apply(settings, checks: [])
        let after = monitor.conditions().storage.keys

        #expect(Set(during) == ["/", "/tmp"])
        #expect(Set(after) == ["/tmp"])
    }

    @Test func `services are asked where a job depends on them, and while an attempt does`() throws
    {
        let monitor = try CapturedTree([:]).monitor()
        var quiet = HostConditions.Settings()
        quiet.asksServices = false
        monitor.apply(quiet, checks: [])

        let before = monitor.conditions().idle.source
        monitor.apply(HostConditions.Settings(), checks: [])
        let asked = monitor.conditions().idle.source
        monitor.attempts(are: 1)
        monitor.apply(quiet, checks: [])
        let during = monitor.conditions().idle.source
        monitor.attempts(are: 0)
        monitor.apply(quiet, checks: [])
        let after = monitor.conditions().idle.source

        #expect(before == "no bus was looked for")
        #expect(asked != before && during == asked)
        #expect(after == before)
    }

    /// A store that says whether it is deciding.
    private final class HeldStore: RunStore {
        private let store = MemoryRunStore()
        let isHeld: Flag

        init(_ isHeld: Flag) { self.isHeld = isHeld }

        func decide(
            recalling starts: StartRecall?, _ decide: (Ledger) -> [LedgerChange]
        ) throws(RunStoreError) {
            isHeld.set(true)
            defer { isHeld.set(false) }
            try store.decide(recalling: starts, decide)
        }
        func ledger(recalling starts: StartRecall?) throws(RunStoreError) -> Ledger {
            try store.ledger(recalling: starts)
        }
        func end() { store.end() }
        func tidy() { store.tidy() }
    }

    private final class Flag: Sendable {
        private let value = Mutex(false)
        var isSet: Bool { value.withLock { $0 } }
        func set(_ isSet: Bool) { value.withLock { $0 = isSet } }
    }

    @Test func `a server is asked for logins before each decision, and not within`() async throws {
        let isHeld = Flag()
        let asked = Mutex<[Bool]>([])
        var settings = HostConditions.Settings()
        settings.logins = {
            asked.withLock { $0.append(isHeld.isSet) }
            return ["ada"]
        }
        settings.onlyAccount = "ada"
        let monitor = HostConditions(stateDirectory: "/", settings: settings)
        var scheduler = Scheduler(
            planner: Planner(jobs: JobSet([]), owner: "me", maxParallel: 1, seed: 0),
            store: HeldStore(isHeld),
            worker: FakeWorker { _, _ in AttemptEnd(.reported(.success)) },
            monitor: monitor, clock: ManualClock())

        _ = try await scheduler.run(until: .idle)

        #expect(asked.withLock { $0 }.isEmpty == false)
        #expect(asked.withLock { $0.filter(\.self) } == [])
        #expect(monitor.conditions().login.value == true)
    }

    @Test func `a path that is named twice is measured once`() throws {
        var settings = HostConditions.Settings()
        settings.storagePaths = ["/", "/"]

        let conditions = HostConditions(stateDirectory: "/", settings: settings).conditions()

        #expect(Array(conditions.storage.keys) == ["/"])
    }

    @Test func `network, power, battery and storage of this machine are known`() {
        let conditions = HostConditions(stateDirectory: "/").conditions()

        #expect(conditions.connected.value != nil, "\(conditions.connected.source)")
        #expect(conditions.externalPower.value != nil, "\(conditions.externalPower.source)")
        #expect(conditions.battery.value != nil, "\(conditions.battery.source)")
        #expect(conditions.storageFreeBytes.value ?? 0 > 0)
    }

    @Test func `a named pipe in a file's place does not stop the answer`() throws {
        let captured = try CapturedTree(["/proc/pressure": .folder])
        #expect(mkfifo(captured.root + "/proc/pressure/cpu", 0o644) == 0)

        let pressure = captured.conditions()
            .pressurePercent

        #expect(pressure == .sampledUnknown("/proc/pressure/cpu: not a pressure"))
    }

    @Test func `a file without end is given up`() throws {
        let captured = try CapturedTree(["/proc/pressure/cpu": .link("/dev/zero")])

        let pressure = captured.conditions()
            .pressurePercent

        #expect(pressure == .sampledUnknown("/proc/pressure/cpu: more than 4194304 bytes"))
    }

    // MARK: With the services of a bus

    @Test(
        .enabled(if: MockBus.isAvailable, Comment(rawValue: MockBus.need)), .timeLimit(.minutes(5)))
    func `a service's answer overrides the kernel's, and its changes are announced`()
        async throws
    {
        let bus = try await MockBus()
        try await bus.start(.upower, .logind)
        let events = try #require(EventThread())
        let captured = try CapturedTree(Self.quietServer)
        let address = bus.address
        let monitor = captured.monitor(services: CapturedTree.services(address), events: events)

        let before = try await blocking { monitor.conditions() }
        try await bus.setOnBattery(true)
        try await bus.addSession("1")
        let after = try await blocking {
            events.run {
                for await _ in monitor.changes() {
                    let conditions = monitor.conditions()
                    if conditions.externalPower.value == false, conditions.idle.value == false {
                        return conditions
                    }
                }
                return monitor.conditions()
            }
        }

        #expect(before.externalPower == .init(true, source: "UPower: OnBattery"))
        #expect(
            before.idle
                == .init(true, source: "load of 10% of 2 processors is below 25%", isSampled: true))
        #expect(after.externalPower == .init(false, source: "UPower: OnBattery"))
        #expect(after.idle.source == "logind: IdleHint, 1 session")
    }

    @Test(
        .enabled(if: MockBus.isAvailable, Comment(rawValue: MockBus.need)), .timeLimit(.minutes(5)))
    func `if UPower hangs, the kernel answers, and nothing else changes`() async throws {
        let bus = try await MockBus()
        try await bus.start(.upower, .logind)
        bus.freeze(.upower)
        let captured = try CapturedTree(Self.quietServer)
        let monitor = captured.monitor(services: CapturedTree.services(bus.address))

        let first = try await blocking { monitor.conditions() }

        #expect(first.externalPower.value == true)
        #expect(
            first.externalPower.source.hasPrefix("no battery in /sys/class/power_supply; UPower"),
            "\(first.externalPower.source)")
        #expect(first.idle.value == true)
    }

    /// A server with two processors and a low load.
    private static let quietServer: [String: CapturedTree.Entry] = [
        "/proc/loadavg": "0.20 0.18 0.12 1/80 11206", "/sys/devices/system/cpu/online": "0-1",
    ]
}

extension CapturedTree {
    /// Connects to the services of a bus; by default there is no bus.
    static func services(_ address: String = "unix:path=/dev/null/none") -> SystemServices {
        SystemServices(clock: SystemClock(), address: address)
    }

    /// Makes a monitor of the captured machine.
    func monitor(
        services: SystemServices = CapturedTree.services(), stateDirectory: String = "/",
        events: EventThread? = nil
    ) -> HostConditions {
        let monitor = HostConditions(
            root: root, routes: .none("none of a captured machine"),
            stateDirectory: stateDirectory, services: services, clock: SystemClock())
        if let events { monitor.listen(on: events) }
        return monitor
    }

    fileprivate func conditions(stateDirectory: String = "/") -> Conditions {
        monitor(stateDirectory: stateDirectory).conditions()
    }
}
