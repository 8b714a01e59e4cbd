import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import ClarityHost

@Suite(
    "Services and buses that fail",
    .enabled(if: MockBus.isAvailable, Comment(rawValue: MockBus.need)), .timeLimit(.minutes(5)))
struct SystemServicesFaultTests {
    // MARK: Services that come and go

    @Test func `services that do not run are unavailable`() async throws {
        let bus = try await MockBus()
        let listener = try ServicesListener(bus.address)

        let answers = try await listener.answers()

        #expect(answers.connectivity.summary == "unavailable: NetworkManager does not run")
        #expect(answers.roaming.summary == "unavailable: ModemManager does not run")
        #expect(answers.onBattery.summary == "unavailable: UPower does not run")
        #expect(answers.battery.summary == "unavailable: UPower does not run")
        #expect(answers.lowPower.summary == "unavailable: power-profiles-daemon does not run")
        #expect(answers.people.summary == "unavailable: logind does not run")
    }

    @Test func `a service that starts is heard, and so are its end and its return`() async throws {
        let bus = try await MockBus()
        var listener = try ServicesListener(bus.address)
        _ = try await listener.answers()

        try await bus.start(.upower)
        let started = try await listener.answers(when: \.isPowerTold)
        try await bus.stop(.upower)
        let stopped = try await listener.answers { $0.onBattery.value == nil }
        try await bus.start(.upower)
        try await bus.setOnBattery(true)
        let restarted = try await listener.answers {
            $0.isPowerTold && $0.onBattery.value == true
        }

        #expect(started.battery.value == .absent)
        #expect(stopped.battery.summary == "silent: UPower does not run, last absent")
        #expect(restarted.battery.value == .absent)
    }

    @Test func `a service that hangs from the start hurts no other and is heard when it wakes`()
        async throws
    {
        let bus = try await MockBus()
        try await bus.start(.upower, .powerProfiles)
        bus.freeze(.upower)
        var listener = try ServicesListener(bus.address, firstLook: .milliseconds(1))

        let others = try await listener.answers { $0.lowPower.value != nil }
        listener.clock.advance(by: .seconds(2))
        let silent = try await listener.answers { $0.onBattery.summary.hasSuffix("not answer") }
        bus.thaw(.upower)
        let awake = try await listener.answers { $0.onBattery.value != nil }

        #expect(others.lowPower.value == false)
        #expect(others.onBattery.summary == "silent: UPower has not answered yet")
        #expect(silent.battery.summary == "silent: UPower does not answer")
        #expect(silent.lowPower.value == false)
        #expect(awake.onBattery.value == false)
    }

    @Test func `a service that comes to hang keeps what it said last, with its age`() async throws {
        let bus = try await MockBus()
        try await bus.start(.upower, .powerProfiles)
        try await bus.setBattery(percent: 80)
        var listener = try ServicesListener(bus.address)
        let before = try await listener.answers()

        bus.freeze(.upower)
        let start = listener.clock.now
        listener.clock.advance(by: .seconds(60))
        // The service is asked again, but nothing waits for it: its last value still counts.
        let asked = try await listener.answers()
        listener.clock.advance(by: .seconds(2))
        let silent = try await listener.answers { $0.battery.value == nil }
        try await bus.set(.powerProfiles, "ActiveProfile", .string("power-saver"))
        let others = try await listener.answers { $0.lowPower.value == true }

        #expect(before.battery.value == .charge(percent: 80))
        #expect(asked.battery.value == .charge(percent: 80))
        #expect(
            silent.battery
                == .silent(
                    reason: "UPower does not answer",
                    last: ServiceReading(
                        value: .charge(percent: 80), source: "UPower: DisplayDevice", at: start)))
        #expect(others.battery.value == nil)
        bus.thaw(.upower)
    }

    // MARK: Rejected messages

    @Test func `a stranger who speaks for a service is not heard`() async throws {
        let bus = try await MockBus()
        try await bus.start(.upower)
        try await bus.setBattery(percent: 80)
        var listener = try ServicesListener(bus.address)
        _ = try await listener.answers()

        try await bus.spoof(.upower, "OnBattery", .bool(true))
        // The bus keeps the order, so this value comes after the stranger's.
        try await bus.setBattery(percent: 70)
        let answers = try await listener.answers { $0.battery.value == .charge(percent: 70) }

        #expect(answers.onBattery.value == false)
    }

    @Test(arguments: [
        (
            MockBus.Value.string("full"),
            "unknown: UPower: OnBattery: `full` is neither true nor false"
        ),
        (
            .strings(["full"]),
            "unknown: UPower: OnBattery: a value of type `as` is neither true nor false"
        ),
        (
            .uint64(.max),
            "unknown: UPower: OnBattery: 18446744073709551615 is neither true nor false"
        ),
        (.double(.nan), "unknown: UPower: OnBattery: nan is neither true nor false"),
    ])
    func `a value of another type is unknown`(value: MockBus.Value, summary: String) async throws {
        try await expect(value, summary)
    }

    @Test func `a text that is too long is unknown`() async throws {
        try await expect(
            .string(String(repeating: "a", count: 5000)),
            "unknown: UPower: OnBattery: a text that is too long or none is neither true nor false")
    }

    /// Checks what becomes of a value of UPower's `OnBattery`, when it changes and when it is asked
    /// for.
    private func expect(_ value: MockBus.Value, _ summary: String) async throws {
        let bus = try await MockBus()
        try await bus.start(.upower)
        var listener = try ServicesListener(bus.address)
        _ = try await listener.answers()

        try await bus.set(.upower, "OnBattery", value)
        let changed = try await listener.answers { $0.onBattery.value == nil }
        let asked = try await ServicesListener(bus.address).answers()

        #expect(changed.onBattery.summary == summary)
        #expect(asked.onBattery.summary == summary)
    }

    @Test(arguments: [
        (1024, "`\(String(repeating: "a", count: 60))...` is no profile"),
        (1025, "a text that is too long or none is no text"),
    ])
    func `a text is read up to 1 KiB`(length: Int, reason: String) async throws {
        let bus = try await MockBus()
        try await bus.start(.powerProfiles)
        var listener = try ServicesListener(bus.address)
        _ = try await listener.answers()

        let text = String(repeating: "a", count: length)
        try await bus.set(.powerProfiles, "ActiveProfile", .string(text))
        let answers = try await listener.answers { $0.lowPower.value == nil }

        #expect(
            answers.lowPower.summary == "unknown: power-profiles-daemon: ActiveProfile: \(reason)")
    }

    @Test(arguments: [true, false])
    func `a change without a value, or of no form, is asked for`(isInvalidation: Bool) async throws
    {
        let bus = try await MockBus()
        try await bus.start(.upower)
        var listener = try ServicesListener(bus.address)
        _ = try await listener.answers()

        listener.clock.advance(by: .seconds(1))
        try await bus.emitChange(.upower, isInvalidation: isInvalidation, of: "OnBattery")
        // A listener that has received this has asked for the value. The answer comes before the
        // next change.
        try await bus.setBattery(percent: 70)
        _ = try await listener.answers { $0.battery.value == .charge(percent: 70) }
        try await bus.setBattery(percent: 60)
        let answers = try await listener.answers { $0.battery.value == .charge(percent: 60) }

        #expect(
            answers.onBattery
                == .answered(
                    ServiceReading(
                        value: false, source: "UPower: OnBattery", at: listener.clock.now)))
    }

    // MARK: The bus

    @Test func `without a bus everything is unavailable`() async throws {
        let folder = try TemporaryFolder()
        let listener = try ServicesListener("unix:path=\(folder.path)/none")

        let answers = try await listener.answers()

        #expect(
            answers.connectivity.summary
                == "unavailable: no system bus: No such file or directory")
        #expect(
            answers.people.summary == "unavailable: no system bus: No such file or directory")
    }

    @Test func `a bus that dies is told, and one that comes back is found`() async throws {
        let bus = try await MockBus()
        try await bus.start(.upower)
        var listener = try ServicesListener(bus.address)
        let before = try await listener.answers()

        await bus.kill()
        let dead = try await listener.answers { $0.onBattery.value == nil }
        try await bus.revive()
        try await bus.start(.upower)
        listener.clock.advance(by: .seconds(4))
        let early = try await listener.answers()
        listener.clock.advance(by: .seconds(1))
        let back = try await listener.answers(when: \.isPowerTold)

        #expect(before.onBattery.value == false)
        #expect(dead.onBattery.summary.hasPrefix("silent: no system bus: "))
        #expect(early.onBattery.summary == dead.onBattery.summary)
        #expect(back.battery.value == .absent)
    }

    @Test func `a bus that hangs keeps nobody waiting`() async throws {
        let bus = try await MockBus()
        try await bus.start(.upower)
        bus.freezeBus()
        var listener = try ServicesListener(bus.address, firstLook: .milliseconds(1))

        let early = try await listener.answers()
        listener.clock.advance(by: .seconds(2))
        let silent = try await listener.answers()
        bus.thawBus()
        let awake = try await listener.answers(when: \.isPowerTold)

        #expect(early.onBattery.summary == "silent: the system bus has not answered yet")
        #expect(silent.onBattery.summary == "silent: the system bus does not answer")
        #expect(awake.battery.value == .absent)
    }

    @Test func `several listen, and each hears of a change whoever looks first`() async throws {
        let bus = try await MockBus()
        try await bus.start(.upower)
        let listener = try ServicesListener(bus.address)
        let services = listener.services
        let events = try #require(EventThread.shared)
        let streams = (0..<3).map { _ in events.elements(of: services.sources()) }
        _ = try await listener.answers()

        try await bus.setOnBattery(true)
        for stream in streams {
            var isOnBattery = false
            while !isOnBattery {
                for await _ in stream { break }
                isOnBattery = try await listener.answers().onBattery.value == true
            }
        }

        #expect(try await listener.answers().onBattery.value == true)
    }
}
