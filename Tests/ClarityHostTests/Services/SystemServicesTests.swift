import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import ClarityHost

@Suite(
    "What the services on the bus say",
    .enabled(if: MockBus.isAvailable, Comment(rawValue: MockBus.need)), .timeLimit(.minutes(5)))
struct SystemServicesTests {
    @Test func `a cable that is pulled is no connection, and one that is plugged in is`()
        async throws
    {
        let bus = try await MockBus()
        try await bus.start(.networkManager)
        var listener = try ServicesListener(bus.address)

        let before = try await listener.answers()
        try await bus.disconnect()
        let pulled = try await listener.answers {
            $0.connectivity.value == NetworkManager.Connectivity.none
        }
        try await bus.connect(over: "802-3-ethernet")
        let plugged = try await listener.answers { $0.connectivity.value == .full }

        #expect(before.connectivity.value == .full)
        #expect(before.primaryConnectionType.value == "802-3-ethernet")
        #expect(pulled.metered.summary == "unknown: NetworkManager: Metered: not known to it")
        #expect(pulled.primaryConnectionType.value == "")
        #expect(plugged.metered.value == .guessNo)
    }

    @Test(arguments: [
        (2, NetworkManager.Connectivity.portal), (3, .limited), (1, .none),
    ])
    func `a network that reaches nothing says so`(
        value: Int, connectivity: NetworkManager.Connectivity
    ) async throws {
        let bus = try await MockBus()
        try await bus.start(.networkManager)
        var listener = try ServicesListener(bus.address)
        _ = try await listener.answers()

        try await bus.set(.networkManager, "Connectivity", .uint32(value))
        let answers = try await listener.answers { $0.connectivity.value != .full }

        #expect(answers.connectivity.value == connectivity)
    }

    @Test func `a telephone that is joined is metered by a guess, and by a person's word`()
        async throws
    {
        let bus = try await MockBus()
        try await bus.start(.networkManager)
        var listener = try ServicesListener(bus.address)
        _ = try await listener.answers()

        try await bus.connect(over: "802-11-wireless", metered: 3)
        let guess = try await listener.answers { $0.metered.value != .guessNo }
        try await bus.connect(over: "802-11-wireless", metered: 1)
        let word = try await listener.answers { $0.metered.value != .guessYes }

        #expect(guess.metered.value == .guessYes)
        #expect(word.metered.value == .yes)
    }

    @Test func `a modem roams abroad while the traffic goes through it`() async throws {
        let bus = try await MockBus()
        try await bus.start(.networkManager, .modemManager)
        try await bus.connect(over: "gsm", metered: 3)
        var listener = try ServicesListener(bus.address)

        let without = try await listener.answers()
        try await bus.addModem(0, state: 11, registration: 5)
        let abroad = try await listener.answers { $0.roaming.value == true }
        try await bus.setRegistration(0, 1)
        let home = try await listener.answers { $0.roaming.value == false }
        try await bus.setRegistration(0, 5)
        _ = try await listener.answers { $0.roaming.value == true }
        try await bus.connect(over: "802-11-wireless")
        let wireless = try await listener.answers { $0.roaming.value == false }
        try await bus.connect(over: "gsm")
        _ = try await listener.answers { $0.roaming.value == true }
        try await bus.removeModem(0)
        let pulled = try await listener.answers { $0.roaming.value == false }

        let source = "ModemManager: RegistrationState"
        let at = listener.clock.now
        #expect(without.roaming == .answered(ServiceReading(value: false, source: source, at: at)))
        #expect(abroad.roaming == .answered(ServiceReading(value: true, source: source, at: at)))
        #expect(home.roaming == .answered(ServiceReading(value: false, source: source, at: at)))
        #expect(
            wireless.roaming
                == .answered(
                    ServiceReading(
                        value: false, source: "NetworkManager: PrimaryConnectionType", at: at)))
        #expect(pulled.roaming == .answered(ServiceReading(value: false, source: source, at: at)))
    }

    @Test func `a power cord that is pulled leaves the battery, which drains`() async throws {
        let bus = try await MockBus()
        try await bus.start(.upower)
        try await bus.setBattery(percent: 80)
        var listener = try ServicesListener(bus.address)

        let before = try await listener.answers()
        try await bus.setOnBattery(true)
        let pulled = try await listener.answers { $0.onBattery.value == true }
        try await bus.setBattery(percent: 19.9)
        let drained = try await listener.answers { $0.battery.value != .charge(percent: 80) }
        try await bus.setOnBattery(false)
        let plugged = try await listener.answers { $0.onBattery.value == false }

        #expect(before.onBattery.value == false)
        #expect(pulled.battery.value == .charge(percent: 80))
        #expect(drained.battery.value == .charge(percent: 19))
        #expect(drained.onBattery.value == true)
        #expect(plugged.battery.value == .charge(percent: 19))
    }

    @Test func `a machine without a battery has none`() async throws {
        let bus = try await MockBus()
        try await bus.start(.upower)
        let listener = try ServicesListener(bus.address)

        let answers = try await listener.answers()

        #expect(answers.battery.value == .absent)
        #expect(answers.onBattery.value == false)
    }

    @Test(arguments: [MockBus.Service.powerProfiles, .formerPowerProfiles])
    func `the power saver is turned on and off`(service: MockBus.Service) async throws {
        let bus = try await MockBus()
        try await bus.start(service)
        var listener = try ServicesListener(bus.address)

        let before = try await listener.answers()
        try await bus.set(service, "ActiveProfile", .string("power-saver"))
        let on = try await listener.answers { $0.lowPower.value == true }
        try await bus.set(service, "ActiveProfile", .string("performance"))
        let off = try await listener.answers { $0.lowPower.value == false }

        #expect(before.lowPower.value == false)
        #expect(on.lowPower.value == true)
        #expect(off.lowPower.value == false)
    }

    @Test func `people come, rest and leave; a greeter is nobody`() async throws {
        let bus = try await MockBus()
        try await bus.start(.logind)
        try await bus.addSession("c1", class: "greeter")
        var listener = try ServicesListener(bus.address)

        let nobody = try await listener.answers()
        try await bus.addSession("2")
        let somebody = try await listener.answers { $0.people.value?.sessions == 1 }
        try await bus.set(.logind, "IdleSinceHint", .uint64(1_795_219_200_000_000))
        try await bus.set(.logind, "IdleHint", .bool(true))
        let rest = try await listener.answers { $0.people.value?.isIdle == true }
        try await bus.set(.logind, "IdleHint", .bool(false))
        _ = try await listener.answers { $0.people.value?.isIdle == false }
        try await bus.removeSession("2")
        let left = try await listener.answers { $0.people.value?.sessions == 0 }

        #expect(nobody.people.value == LoginSessions.Presence(sessions: 0, isIdle: false))
        #expect(
            somebody.people.value
                == LoginSessions.Presence(sessions: 1, isIdle: false, isAnnounced: false))
        #expect(
            rest.people.value
                == LoginSessions.Presence(
                    sessions: 1, isIdle: true, since: Instant(secondsSince1970: 1_795_219_200),
                    isAnnounced: false))
        #expect(left.people.value?.isIdle == false)
    }
}
