import ClarityScheduler
import Testing

@testable import ClarityHost

@Suite struct MergedAnswersTests {
    private static let now = Instant(secondsSince1970: 10_000)

    /// The kernel's answers on a laptop that uses wireless and its battery.
    private var kernel = KernelAnswers(
        connected: .init(true, source: "route"), metered: .unknown("wlan0 is wireless"),
        roaming: .unknown("wlan0 is wireless"), isConnectionRuled: false,
        externalPower: .init(false, source: "AC"),
        battery: .init(.charge(percent: 50), source: "BAT0"), lowPower: nil,
        pressurePercent: .init(1, source: "psi"))

    private func merged(_ edit: (inout ServiceAnswers) -> Void = { _ in }) -> MergedAnswers {
        var services = ServiceAnswers { BusService($0) }
        edit(&services)
        return MergedAnswers(kernel: kernel, services: services, now: Self.now)
    }

    private func told<Value>(_ value: Value, at seconds: Int64 = 9_999) -> ServiceAnswer<Value> {
        .answered(
            ServiceReading(value: value, source: "service", at: Instant(secondsSince1970: seconds)))
    }

    private func silent<Value>(_ value: Value, since seconds: Int64) -> ServiceAnswer<Value> {
        .silent(
            reason: "service does not answer",
            last: ServiceReading(
                value: value, source: "service", at: Instant(secondsSince1970: seconds)))
    }

    // MARK: Connected

    @Test(arguments: [
        (NetworkManager.Connectivity.portal, false), (.full, true), (.limited, true), (.none, true),
    ])
    func `of NetworkManager's connectivity only a portal closes a route`(
        connectivity: NetworkManager.Connectivity, isConnected: Bool
    ) {
        let connected = merged { $0.connectivity = told(connectivity) }.connected

        #expect(connected.value == isConnected)
        #expect(
            connected.source == (isConnected ? "route" : "service: a portal that wants a sign-in"))
    }

    @Test func `no service makes a connection where the kernel has no route`() {
        var offline = self
        offline.kernel.connected = .init(false, source: "no route")

        let merged = offline.merged {
            $0.connectivity = told(.full)
            $0.metered = told(.no)
            $0.roaming = told(false)
        }

        #expect(merged.connected == .init(false, source: "no route"))
        #expect(merged.metered == kernel.metered && merged.roaming == kernel.roaming)
    }

    // MARK: Metered

    @Test(arguments: [
        (NetworkManager.Metered.yes, true, "service"), (.no, false, "service"),
        (.guessYes, true, "service, a guess"), (.guessNo, false, "service, a guess"),
    ])
    func `NetworkManager tells what is metered, and marks its guesses`(
        metered: NetworkManager.Metered, isMetered: Bool, source: String
    ) {
        let reading = merged { $0.metered = told(metered) }.metered

        #expect(reading == .init(isMetered, source: source))
    }

    @Test(arguments: [
        (NetworkManager.Metered.yes, true, "service"), (.no, false, "service"),
        (.guessYes, false, "a rule"), (.guessNo, false, "a rule"),
    ])
    func `what the job file says counts more than a guess, and less than what somebody set`(
        metered: NetworkManager.Metered, isMetered: Bool, source: String
    ) {
        var ruled = self
        ruled.kernel.metered = .init(false, source: "a rule")
        ruled.kernel.isConnectionRuled = true

        let reading = ruled.merged { $0.metered = told(metered) }.metered

        #expect(reading == .init(isMetered, source: source))
    }

    @Test func `what a silent service said of the network counts for a quarter of an hour`() {
        let lately = merged { $0.metered = silent(.yes, since: 9_100) }.metered
        let before = merged { $0.metered = silent(.yes, since: 9_099) }.metered
        let fromTheFuture = merged { $0.metered = silent(.yes, since: 10_001) }.metered

        #expect(
            lately
                == .init(
                    true, source: "service, silent since", at: Instant(secondsSince1970: 9_100),
                    isSampled: true))
        #expect(before == .sampledUnknown("wlan0 is wireless; service does not answer"))
        #expect(fromTheFuture.value == nil)
    }

    @Test func `roaming is told by the modem, a rule or nobody`() {
        var ruled = self
        ruled.kernel.roaming = .init(false, source: "a rule")
        ruled.kernel.isConnectionRuled = true

        #expect(merged { $0.roaming = told(true) }.roaming == .init(true, source: "service"))
        #expect(
            ruled.merged { $0.roaming = told(false) }.roaming == .init(false, source: "a rule"))
        #expect(merged { $0.isBusReached = true }.roaming == kernel.roaming)
    }

    @Test func `a rule of what a connection costs does not hide that its modem roams`() {
        var ruled = self
        ruled.kernel.roaming = .init(false, source: "`wwan*` is metered")
        ruled.kernel.isConnectionRuled = true

        let roaming = ruled.merged { $0.roaming = told(true) }.roaming

        #expect(roaming == .init(true, source: "service"))
    }

    @Test func `a rule for one of several links is stronger than a guess about them all`() {
        var ruled = self
        ruled.kernel.metered = .init(true, source: "`wwan*` is metered")
        ruled.kernel.roaming = .init(true, source: "`wwan*` is roaming")

        let answers = ruled.merged {
            $0.metered = told(.guessNo)
            $0.roaming = told(false)
        }

        #expect(answers.metered == ruled.kernel.metered)
        #expect(answers.roaming == ruled.kernel.roaming)
    }

    @Test func `a condition that no service announces is sampled`() {
        let unreached = merged()
        let reached = merged { $0.isBusReached = true }
        let silent = merged {
            $0.isBusReached = true
            $0.metered = .silent(reason: "no answer", last: nil)
        }

        #expect(unreached.metered.isSampled && unreached.roaming.isSampled)
        #expect(unreached.idle(hasRule: false) { load }.isSampled)
        #expect(!unreached.externalPower.isSampled && !unreached.battery.isSampled)
        #expect(!reached.metered.isSampled && !reached.roaming.isSampled)
        #expect(!reached.idle(hasRule: false) { load }.isSampled)
        #expect(silent.metered.isSampled && !silent.roaming.isSampled)
    }

    // MARK: Power

    @Test func `UPower's word on power counts, and the kernel's where it has none`() {
        let told = merged {
            $0.onBattery = self.told(false)
            $0.battery = self.told(.charge(percent: 81))
        }
        let silent = merged {
            $0.onBattery = self.silent(false, since: 9_999)
            $0.battery = self.silent(.absent, since: 9_999)
        }

        #expect(told.externalPower == .init(true, source: "service"))
        #expect(told.battery == .init(.charge(percent: 81), source: "service"))
        #expect(silent.externalPower == .init(false, source: "AC; service does not answer"))
        #expect(
            silent.battery == .init(.charge(percent: 50), source: "BAT0; service does not answer"))
        #expect(merged().externalPower == kernel.externalPower)
    }

    @Test func `power is saved where somebody can and does`() {
        var quiet = self
        quiet.kernel.lowPower = .init(true, source: "profile")

        #expect(merged { $0.lowPower = told(true) }.lowPower == .init(true, source: "service"))
        #expect(quiet.merged().lowPower == .init(true, source: "profile"))
        #expect(
            merged().lowPower
                == .init(false, source: "neither power-profiles-daemon nor a platform profile"))
    }

    @Test func `an unclear answer about power saving is unknown`() {
        let garbled = merged {
            $0.isBusReached = true
            $0.lowPower = .unknown(reason: "no profile")
        }
        let silent = merged { $0.lowPower = self.silent(false, since: 9_999) }

        #expect(garbled.lowPower == .unknown("no profile"))
        #expect(silent.lowPower == .sampledUnknown("service does not answer"))
    }

    // MARK: Sessions

    private let load = Conditions.Reading(true, source: "load", isSampled: true)

    @Test(arguments: [
        (LoginSessions.Presence(sessions: 1, isIdle: false), false, "service, 1 session"),
        (LoginSessions.Presence(sessions: 2, isIdle: true), true, "service, 2 sessions"),
        // Nobody is logged in to a server, so its load decides.
        (LoginSessions.Presence(sessions: 0, isIdle: false), true, "load"),
    ])
    func
        `a machine is idle when all who are logged in are, or when nobody is and it has little to do`(
            presence: LoginSessions.Presence, isIdle: Bool, source: String
        )
    {
        let idle = merged { $0.people = told(presence) }.idle(hasRule: false) { load }

        #expect(idle.value == isIdle && idle.source == source)
        #expect(idle.isSampled == (presence.sessions == 0))
    }

    @Test func `a terminal does not announce that it is idle`() {
        let presence = LoginSessions.Presence(sessions: 1, isIdle: false, isAnnounced: false)

        let idle = merged { $0.people = told(presence) }.idle(hasRule: false) { load }

        #expect(idle.isSampled)
    }

    @Test func `without logind the load counts where the job file says so, and else nobody knows`()
    {
        let reason = merged().services.people.reason

        #expect(merged().idle(hasRule: true) { load } == load)
        #expect(merged().idle(hasRule: false) { load } == .sampledUnknown(reason))
        #expect(!reason.isEmpty)
    }

    // MARK: Load at rest

    @Test func `the load of the program's own attempts does not make the machine busy`() {
        let load = RestingLoad()
        let calm = Conditions.Reading(true, source: "12%", isSampled: true)
        let busy = Conditions.Reading(false, source: "98%", isSampled: true)

        let unknown = load.idle(measured: busy, attempts: 1, at: Self.now)
        let before = load.idle(measured: calm, attempts: 0, at: Self.now)
        let during = load.idle(measured: busy, attempts: 1, at: Self.now + .seconds(60))
        let after = load.idle(measured: busy, attempts: 0, at: Self.now + .seconds(120))

        #expect(unknown == busy && before == calm && after == busy)
        #expect(during == .init(true, source: "12%", at: Self.now, isSampled: true))
    }

    @Test func `a load of long before the attempts does not stand for them`() {
        let load = RestingLoad()
        let calm = Conditions.Reading(true, source: "12%", isSampled: true)
        let busy = Conditions.Reading(false, source: "98%", isSampled: true)
        _ = load.idle(measured: calm, attempts: 0, at: Self.now)

        let tooLate = load.idle(measured: busy, attempts: 1, at: Self.now + .seconds(301))
        _ = load.idle(measured: calm, attempts: 0, at: Self.now + .seconds(400))
        let soon = load.idle(measured: busy, attempts: 1, at: Self.now + .seconds(700))
        let long = load.idle(measured: busy, attempts: 1, at: Self.now + .seconds(7_000))

        #expect(tooLate == busy)
        #expect(soon.value == true && long.value == true)
    }
}
