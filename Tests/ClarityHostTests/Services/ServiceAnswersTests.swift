import ClarityScheduler
import Testing

@testable import ClarityHost

@Suite struct ServiceAnswersTests {
    private static let now = Moment(wall: Instant(secondsSince1970: 100), elapsed: .zero)

    /// Makes a running service that has answered about its fixed objects, its list and listed
    /// objects.
    private static func said(
        _ subscription: BusSubscription, _ properties: [BusProperties], list: BusReply? = nil,
        each: BusProperties = [:]
    ) -> BusService {
        var service = BusService(subscription)
        _ = service.connected(at: now)
        var requests = service.receive(.owner(service: subscription.service, ":1.1"), at: now)
        while let request = requests.popLast() {
            let reply: BusReply
            switch request.question {
            case .owner: continue
            case .list: reply = list ?? .refused("none")
            case .properties(let place):
                let wanted = subscription.objects[place]
                // Each fixed object wants different properties, which identify its answer.
                reply = .properties(
                    wanted == nil
                        ? each
                        : properties.first { !$0.keys.allSatisfy { wanted?.contains($0) != true } }
                            ?? [:])
            }
            requests += service.receive(.reply(to: request, reply), at: now)
        }
        return service
    }

    private static func text<Value>(_ answer: ServiceAnswer<Value>) -> String {
        switch answer {
        case .answered(let told): "\(told.value) (\(told.source))"
        case .unknown(let reason): "unknown: \(reason)"
        case .unavailable(let reason): "unavailable: \(reason)"
        case .silent(let reason, _): "silent: \(reason)"
        }
    }

    // MARK: NetworkManager

    @Test(arguments: [
        (BusValue.number(0), "unknown: NetworkManager: Connectivity: not known to it"),
        (.number(1), "none (NetworkManager: Connectivity)"),
        (.number(2), "portal (NetworkManager: Connectivity)"),
        (.number(3), "limited (NetworkManager: Connectivity)"),
        (.number(4), "full (NetworkManager: Connectivity)"),
        (.number(5), "unknown: NetworkManager: Connectivity: 5 is not in 0 to 4"),
        (.number(-1), "unknown: NetworkManager: Connectivity: -1 is not in 0 to 4"),
        (.truth(true), "unknown: NetworkManager: Connectivity: true is no whole number"),
        (.real(4), "unknown: NetworkManager: Connectivity: 4.0 is no whole number"),
        (
            .unreadable("a value of type `as`"),
            "unknown: NetworkManager: Connectivity: a value of type `as` is no whole number"
        ),
    ])
    func `connectivity has four answers`(value: BusValue, text: String) {
        let service = Self.said(NetworkManager.subscription, [["Connectivity": value]])

        #expect(Self.text(NetworkManager(service: service).connectivity) == text)
    }

    @Test(arguments: [
        (BusValue.number(0), "unknown: NetworkManager: Metered: not known to it"),
        (.number(1), "yes (NetworkManager: Metered)"),
        (.number(2), "no (NetworkManager: Metered)"),
        (.number(3), "guessYes (NetworkManager: Metered)"),
        (.number(4), "guessNo (NetworkManager: Metered)"),
        (.number(5), "unknown: NetworkManager: Metered: 5 is not in 0 to 4"),
        (.text("no"), "unknown: NetworkManager: Metered: `no` is no whole number"),
    ])
    func `metered tells guesses from what is known`(value: BusValue, text: String) {
        let service = Self.said(NetworkManager.subscription, [["Metered": value]])

        #expect(Self.text(NetworkManager(service: service).metered) == text)
    }

    @Test func `a property that is not there is unknown`() {
        let service = Self.said(NetworkManager.subscription, [["Metered": .number(1)]])

        #expect(
            Self.text(NetworkManager(service: service).connectivity)
                == "unknown: NetworkManager: Connectivity: it does not say `Connectivity`")
    }

    // MARK: ModemManager

    private static func modems(_ modems: [(state: BusValue, registration: BusValue?)])
        -> BusService
    {
        var objects: BusObjects = [:]
        for (number, modem) in modems.enumerated() {
            let path = "/org/freedesktop/ModemManager1/Modem/\(number)"
            objects[path] = ["org.freedesktop.ModemManager1.Modem": ["State": modem.state]]
            objects[path]?["org.freedesktop.ModemManager1.Modem.Modem3gpp"] =
                modem.registration.map { ["RegistrationState": $0] }
        }
        return said(ModemManager.subscription, [], list: .tree(objects))
    }

    @Test(
        arguments: [
            ([], "false"),
            ([(.number(11), .number(1))], "false"),
            ([(.number(11), .number(5))], "true"),
            ([(.number(11), .number(7))], "true"),
            ([(.number(11), .number(10))], "true"),
            ([(.number(11), .number(6))], "false"),
            ([(.number(8), .number(5))], "false"),
            ([(.number(-1), .number(5))], "false"),
            ([(.number(11), .number(1)), (.number(11), .number(5))], "true"),
            ([(.number(11), nil), (.number(11), .number(5))], "true"),
            ([(.number(11), nil)], "a modem that is connected does not say to whose network"),
            ([(.number(11), .number(4))], "not known to it"),
            ([(.number(11), .number(12))], "12 is not in 0 to 11"),
            ([(.number(12), .number(5))], "12 is not in -1 to 11"),
            ([(.text("connected"), .number(5))], "`connected` is no whole number"),
            ([(.number(11), .truth(true))], "true is no whole number"),
        ] as [([(BusValue, BusValue?)], String)])
    func `a modem that is connected elsewhere roams`(
        modems: [(BusValue, BusValue?)], text: String
    ) {
        let answer = ModemManager(service: Self.modems(modems)).isRoaming

        let isKnown = text == "true" || text == "false"
        #expect(
            Self.text(answer)
                == (isKnown
                    ? "\(text) (ModemManager: RegistrationState)"
                    : "unknown: ModemManager: RegistrationState: \(text)"))
    }

    @Test(arguments: [
        ("802-3-ethernet", "false (NetworkManager: PrimaryConnectionType)"),
        ("802-11-wireless", "false (NetworkManager: PrimaryConnectionType)"),
        ("gsm", "true (ModemManager: RegistrationState)"),
        ("vpn", "true (ModemManager: RegistrationState)"),
        ("", "true (ModemManager: RegistrationState)"),
    ])
    func `a modem roams only where it carries the traffic`(kind: String, text: String) {
        let network = Self.said(
            NetworkManager.subscription, [["PrimaryConnectionType": .text(kind)]])
        let modems = Self.modems([(.number(11), .number(5))])

        let answer = ServiceAnswer.roaming(
            ModemManager(service: modems).isRoaming,
            over: NetworkManager(service: network).primaryConnectionType)

        #expect(Self.text(answer) == text)
    }

    @Test func `a modem roams where nobody says what carries the traffic`() {
        let network = BusService(NetworkManager.subscription)
        let modems = Self.modems([(.number(11), .number(5))])

        let answer = ServiceAnswer.roaming(
            ModemManager(service: modems).isRoaming,
            over: NetworkManager(service: network).primaryConnectionType)

        #expect(answer.value == true)
    }

    // MARK: UPower

    @Test(arguments: [
        (true, 2, BusValue.real(55.9), "charge(percent: 55) (UPower: DisplayDevice)"),
        (true, 3, .real(100), "charge(percent: 100) (UPower: DisplayDevice)"),
        (true, 2, .real(0), "charge(percent: 0) (UPower: DisplayDevice)"),
        (false, 0, .real(0), "absent (UPower: DisplayDevice)"),
        (true, 5, .real(50), "unknown: UPower: DisplayDevice: 5 is not in 2 to 3"),
        (true, 2, .real(.nan), "unknown: UPower: DisplayDevice: nan is not in 0.0 to 100.0"),
        (true, 2, .real(-1), "unknown: UPower: DisplayDevice: -1.0 is not in 0.0 to 100.0"),
        (true, 2, .real(100.5), "unknown: UPower: DisplayDevice: 100.5 is not in 0.0 to 100.0"),
        (true, 2, .real(.infinity), "unknown: UPower: DisplayDevice: inf is not in 0.0 to 100.0"),
        (true, 2, .number(50), "unknown: UPower: DisplayDevice: 50 is no number"),
    ])
    func `a charge is a percentage, rounded down`(
        isPresent: Bool, type: Int64, percentage: BusValue, text: String
    ) {
        let service = Self.said(
            UPower.subscription,
            [["IsPresent": .truth(isPresent), "Type": .number(type), "Percentage": percentage]])

        #expect(Self.text(UPower(service: service).battery).replacing("Battery.", with: "") == text)
    }

    @Test(arguments: [
        (BusValue.truth(true), "true (UPower: OnBattery)"),
        (.truth(false), "false (UPower: OnBattery)"),
        (.number(0), "unknown: UPower: OnBattery: 0 is neither true nor false"),
    ])
    func `a battery feeds the machine or does not`(value: BusValue, text: String) {
        let service = Self.said(UPower.subscription, [["OnBattery": value]])

        #expect(Self.text(UPower(service: service).isOnBattery) == text)
    }

    // MARK: power-profiles-daemon

    @Test(arguments: [
        (BusValue.text("power-saver"), "true (power-profiles-daemon: ActiveProfile)"),
        (.text("balanced"), "false (power-profiles-daemon: ActiveProfile)"),
        (.text("performance"), "false (power-profiles-daemon: ActiveProfile)"),
        (.text("turbo"), "unknown: power-profiles-daemon: ActiveProfile: `turbo` is no profile"),
        (.number(1), "unknown: power-profiles-daemon: ActiveProfile: 1 is no text"),
    ])
    func `a profile saves power or does not, under either name`(value: BusValue, text: String) {
        let now = PowerProfiles(
            service: Self.said(PowerProfiles.subscription, [["ActiveProfile": value]]),
            former: BusService(PowerProfiles.formerSubscription))
        let former = PowerProfiles(
            service: BusService(PowerProfiles.subscription),
            former: Self.said(PowerProfiles.formerSubscription, [["ActiveProfile": value]]))

        #expect(Self.text(now.isLowPower) == text)
        #expect(Self.text(former.isLowPower) == text)
    }

    // MARK: logind

    @Test(arguments: [
        ("user", 2), ("user-early", 2), ("user-light", 2), ("greeter", 0), ("lock-screen", 0),
        ("background", 0), ("manager", 0), ("manager-early", 0), ("none", 0), ("", 0),
    ])
    func `only people's sessions count`(kind: String, count: Int) {
        let service = Self.said(
            LoginSessions.subscription,
            [["IdleHint": .truth(false), "IdleSinceHint": .number(0)]],
            list: .paths(["/org/freedesktop/login1/session/1", "/org/freedesktop/login1/session/2"]
            ),
            each: ["Class": .text(kind), "Type": .text("wayland")])

        #expect(
            LoginSessions(service: service).presence.value
                == LoginSessions.Presence(sessions: count, isIdle: false))
    }

    @Test(arguments: [
        ("x11", true), ("wayland", true), ("mir", true), ("tty", false), ("unspecified", false),
    ])
    func `desktops announce their idleness, and terminals do not`(type: String, announces: Bool) {
        let service = Self.said(
            LoginSessions.subscription,
            [["IdleHint": .truth(false), "IdleSinceHint": .number(0)]],
            list: .paths(["/org/freedesktop/login1/session/1"]),
            each: ["Class": .text("user"), "Type": .text(type)])

        #expect(LoginSessions(service: service).presence.value?.isAnnounced == announces)
    }

    @Test func `people are idle since some time`() {
        let service = Self.said(
            LoginSessions.subscription,
            [["IdleHint": .truth(true), "IdleSinceHint": .number(5_000_999)]],
            list: .paths([]))

        #expect(
            LoginSessions(service: service).presence.value
                == LoginSessions.Presence(
                    sessions: 0, isIdle: true, since: Instant(secondsSince1970: 5)))
    }

    @Test(arguments: [
        (BusValue.text("yes"), BusValue.number(0), "`yes` is neither true nor false"),
        (
            .truth(true), .unreadable("18446744073709551615"),
            "18446744073709551615 is no whole number"
        ),
        (.truth(true), .number(-1), "-1 is not in 0 to \(Int64.max)"),
    ])
    func `an idle hint that is none is unknown`(hint: BusValue, since: BusValue, reason: String) {
        let service = Self.said(
            LoginSessions.subscription, [["IdleHint": hint, "IdleSinceHint": since]],
            list: .paths([]))

        #expect(
            Self.text(LoginSessions(service: service).presence)
                == "unknown: logind: IdleHint: \(reason)")
    }

    @Test func `sessions that are not listed make people unknown`() {
        let service = Self.said(
            LoginSessions.subscription,
            [["IdleHint": .truth(true), "IdleSinceHint": .number(0)]])

        #expect(Self.text(LoginSessions(service: service).presence) == "unknown: logind: none")
    }

    // MARK: All together

    @Test func `a later answer of the same words is no other answer`() {
        let earlier = ServiceAnswer.answered(
            ServiceReading(value: 1, source: "a", at: Instant(secondsSince1970: 1)))
        let later = ServiceAnswer.answered(
            ServiceReading(value: 1, source: "a", at: Instant(secondsSince1970: 2)))
        let other = ServiceAnswer.answered(
            ServiceReading(value: 2, source: "a", at: Instant(secondsSince1970: 1)))

        #expect(earlier.says(as: later))
        #expect(!earlier.says(as: other))
    }
}
