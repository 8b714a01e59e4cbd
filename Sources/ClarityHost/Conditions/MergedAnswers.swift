import ClarityScheduler

/// The combined answers of the kernel and the services: for each condition, that of the source that
/// knows best.
///
/// If a service does not answer, the kernel's answer counts. The kernel hardly knows whether the
/// machine is metered, roaming or idle: there, a silent service's last answer counts for
/// `longestSilence`. `docs/conditions.md` lists the sources of each condition in their order.
struct MergedAnswers {
    /// How long the last answer of a silent service counts.
    static let longestSilence: Duration = .seconds(15 * 60)

    let kernel: KernelAnswers
    let services: ServiceAnswers
    let now: Instant

    /// Whether there is a default route that works, and no captive portal.
    ///
    /// NetworkManager's `none` and `limited` do not make this false. NetworkManager may not know an
    /// interface that has a route, and a backend may be near while the Internet is out of reach.
    var connected: Conditions.Reading<Bool> {
        guard kernel.connected.value == true, case .answered(let reading) = services.connectivity,
            reading.value == .portal
        else { return kernel.connected }
        return Conditions.Reading(false, source: "\(reading.source): a portal that wants a sign-in")
    }

    /// A value that somebody set in NetworkManager or in the job file comes first, then
    /// NetworkManager's guess.
    var metered: Conditions.Reading<Bool> {
        guard kernel.connected.value == true else { return kernel.metered }
        guard let (said, reading) = current(services.metered) else {
            return unannounced(
                kernel.metered.adding(services.metered.silence), services.metered)
        }
        switch said {
        case .yes: return reading(true, "")
        case .no: return reading(false, "")
        case .guessYes where !kernel.isConnectionRuled: return reading(true, ", a guess")
        // A rule may cover only one of several links.
        case .guessNo where !kernel.isConnectionRuled && kernel.metered.value != true:
            return reading(false, ", a guess")
        case .guessYes, .guessNo: return kernel.metered
        }
    }

    /// A rule that calls a connection roaming comes first, then the modem's answer. A rule that
    /// says metered or unmetered does not say whose network it is.
    var roaming: Conditions.Reading<Bool> {
        guard kernel.connected.value == true, kernel.roaming.value != true else {
            return kernel.roaming
        }
        guard let (isRoaming, reading) = current(services.roaming) else {
            return unannounced(kernel.roaming, services.roaming)
        }
        return isRoaming || !kernel.isConnectionRuled ? reading(isRoaming, "") : kernel.roaming
    }

    var externalPower: Conditions.Reading<Bool> {
        kept(kernel.externalPower, unless: services.onBattery) { !$0 }
    }

    var battery: Conditions.Reading<Conditions.Battery> {
        kept(kernel.battery, unless: services.battery) { $0 }
    }

    /// Returns a service's answer, or that of the kernel if the service has none.
    private func kept<Value, Said>(
        _ known: Conditions.Reading<Value>, unless answer: ServiceAnswer<Said>,
        _ meaning: (Said) -> Value
    ) -> Conditions.Reading<Value> {
        guard case .answered(let reading) = answer else {
            return unannounced(known.adding(answer.silence), answer)
        }
        return Conditions.Reading(meaning(reading.value), source: reading.source)
    }

    /// If nothing on this machine can save power, the answer is false. A daemon that runs and does
    /// not answer could, so then the answer is unknown.
    var lowPower: Conditions.Reading<Bool> {
        if case .answered(let reading) = services.lowPower {
            return Conditions.Reading(reading.value, source: reading.source)
        }
        if let known = kernel.lowPower { return known.adding(services.lowPower.silence) }
        if case .unavailable = services.lowPower {
            return Conditions.Reading(
                false, source: "neither power-profiles-daemon nor a platform profile")
        }
        return unannounced(.unknown(services.lowPower.reason), services.lowPower)
    }

    /// Returns whether nobody uses the machine.
    ///
    /// `load` decides if logind reports that nobody is logged in. It also decides if logind's
    /// answer is unknown and the job file has a rule for the load, which `hasRule` says.
    func idle(hasRule: Bool, load: () -> Conditions.Reading<Bool>) -> Conditions.Reading<Bool> {
        if let (presence, reading) = current(services.people) {
            guard presence.sessions > 0 else { return load() }
            let count = counted(presence.sessions, "sessions")
            var idle = reading(presence.isIdle, ", \(count)")
            idle.isSampled = idle.isSampled || !presence.isAnnounced
            return idle
        }
        if hasRule { return load() }
        return unannounced(.unknown(services.people.reason), services.people)
    }

    /// Marks an unknown answer that a service could give as sampled if nothing would announce it:
    /// there is no bus, or the service is silent.
    private func unannounced<Value, Said>(
        _ reading: Conditions.Reading<Value>, _ answer: ServiceAnswer<Said>
    ) -> Conditions.Reading<Value> {
        var reading = reading
        if reading.value == nil, !services.isBusReached || !answer.silence.isEmpty {
            reading.isSampled = true
        }
        return reading
    }

    /// Returns a service's current answer, or its last one if that is recent enough, with a
    /// function that creates a reading from it.
    private func current<Value>(
        _ answer: ServiceAnswer<Value>
    ) -> (Value, (Bool, String) -> Conditions.Reading<Bool>)? {
        switch answer {
        case .answered(let reading):
            return (reading.value, { Conditions.Reading($0, source: reading.source + $1) })
        case .silent(_, .some(let last))
        where last.at <= now && now - last.at <= MergedAnswers.longestSilence:
            return (
                last.value,
                {
                    Conditions.Reading(
                        $0, source: "\(last.source)\($1), silent since", at: last.at,
                        isSampled: true)
                }
            )
        case .silent, .unavailable, .unknown: return nil
        }
    }
}

extension ServiceAnswer {
    /// Why there is no current answer; empty if there is one.
    var reason: String {
        switch self {
        case .answered: ""
        case .unavailable(let reason), .unknown(let reason), .silent(let reason, _): reason
        }
    }

    /// Why the service does not answer, if it is silent; empty otherwise.
    fileprivate var silence: String {
        if case .silent(let reason, _) = self { reason } else { "" }
    }
}

extension Conditions.Reading {
    /// Returns the same reading with a remark added to its source.
    fileprivate func adding(_ remark: String) -> Self {
        var reading = self
        if !remark.isEmpty { reading.source += "; \(remark)" }
        return reading
    }
}

/// What the kernel alone knows about the machine's conditions.
struct KernelAnswers: Sendable {
    var connected: Conditions.Reading<Bool>
    var metered: Conditions.Reading<Bool>
    var roaming: Conditions.Reading<Bool>
    /// Whether a rule of the job file covers every link of the connection.
    var isConnectionRuled: Bool
    var externalPower: Conditions.Reading<Bool>
    var battery: Conditions.Reading<Conditions.Battery>
    /// `nil` if the firmware has no power profiles.
    var lowPower: Conditions.Reading<Bool>?
    var pressurePercent: Conditions.Reading<Int>
}

extension KernelAnswers {
    init(_ tree: HostTree, routes: RouteSource, rules: InterfaceRules) {
        let network = NetworkProbe(tree, routes: routes, rules: rules)
        let power = PowerProbe(tree)
        self.init(
            connected: network.connected, metered: network.metered, roaming: network.roaming,
            isConnectionRuled: network.isRuled, externalPower: power.externalPower,
            battery: power.battery, lowPower: PowerProfileProbe(tree: tree).lowPower,
            pressurePercent: PressureProbe(tree: tree).pressurePercent)
    }
}
