import ClarityScheduler

/// What the kernel and the services say together: for each condition the answer of whom knows best.
///
/// A service that does not answer is passed over for the kernel, which always does; where the kernel
/// knows nothing of the matter, what the service said last counts for a while.
struct MergedAnswers {
    /// How long something counts that a service said before it fell silent.
    static let longestSilence: Duration = .seconds(15 * 60)

    let kernel: KernelAnswers
    let services: ServiceAnswers
    let now: Instant

    /// A route, and nobody who asks for a sign-in first.
    ///
    /// NetworkManager's `none` and `limited` say nothing against it: it need not know of an interface
    /// that has a route, and a backend may be near while the rest of the world is not.
    var connected: Conditions.Reading<Bool> {
        guard kernel.connected.value == true, case .told(let told) = services.connectivity,
            told.value == .portal
        else { return kernel.connected }
        return Conditions.Reading(false, source: "\(told.source): a portal that wants a sign-in")
    }

    /// What somebody has set in NetworkManager or in the job file, then what NetworkManager guesses.
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
        // A rule may speak of one of several links only.
        case .guessNo where !kernel.isConnectionRuled && kernel.metered.value != true:
            return reading(false, ", a guess")
        case .guessYes, .guessNo: return kernel.metered
        }
    }

    /// A rule that calls a connection roaming, then what the modem says: that a connection is metered
    /// or not says nothing of whose network it is.
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
        guard case .told(let told) = services.onBattery else {
            return unannounced(
                kernel.externalPower.adding(services.onBattery.silence), services.onBattery)
        }
        return Conditions.Reading(!told.value, source: told.source)
    }

    var battery: Conditions.Reading<Conditions.Battery> {
        guard case .told(let told) = services.battery else {
            return unannounced(
                kernel.battery.adding(services.battery.silence), services.battery)
        }
        return Conditions.Reading(told.value, source: told.source)
    }

    /// Where nothing can save power, none is saved; whoever runs and does not say can.
    var lowPower: Conditions.Reading<Bool> {
        if case .told(let told) = services.lowPower {
            return Conditions.Reading(told.value, source: told.source)
        }
        if let told = kernel.lowPower { return told.adding(services.lowPower.silence) }
        if case .unavailable = services.lowPower {
            return Conditions.Reading(
                false, source: "neither power-profiles-daemon nor a platform profile")
        }
        return unannounced(.unknown(services.lowPower.reason), services.lowPower)
    }

    /// Whether nobody uses the machine.
    ///
    /// Where nobody is logged in that is told by the load: `idleLoad`, given where logind says so or
    /// the job file has a rule for it.
    func idle(hasRule: Bool, load: () -> Conditions.Reading<Bool>) -> Conditions.Reading<Bool> {
        if let (presence, reading) = current(services.people) {
            guard presence.sessions > 0 else { return load() }
            let count = presence.sessions == 1 ? "1 session" : "\(presence.sessions) sessions"
            var idle = reading(presence.isIdle, ", \(count)")
            idle.isSampled = idle.isSampled || !presence.isAnnounced
            return idle
        }
        if hasRule { return load() }
        return unannounced(.unknown(services.people.reason), services.people)
    }

    /// An answer that a service could give; nobody announces that a bus that is not there comes, or
    /// that who is silent could speak again.
    private func unannounced<Value, Said>(
        _ reading: Conditions.Reading<Value>, _ answer: ServiceAnswer<Said>
    ) -> Conditions.Reading<Value> {
        var reading = reading
        if reading.value == nil, !services.isBusReached || answer.isSilent {
            reading.isSampled = true
        }
        return reading
    }

    /// What a service says, or said not too long ago, and a way to make an answer of it.
    private func current<Value>(
        _ answer: ServiceAnswer<Value>
    ) -> (Value, (Bool, String) -> Conditions.Reading<Bool>)? {
        switch answer {
        case .told(let told):
            return (told.value, { Conditions.Reading($0, source: told.source + $1) })
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
    /// Why there is no answer; empty where there is one.
    var reason: String {
        switch self {
        case .told: ""
        case .unavailable(let reason), .unknown(let reason), .silent(let reason, _): reason
        }
    }

    fileprivate var isSilent: Bool { if case .silent = self { true } else { false } }

    /// The same where the service runs and should have answered.
    fileprivate var silence: String {
        if case .silent(let reason, _) = self { reason } else { "" }
    }
}

extension Conditions.Reading {
    /// The same with what is to be known of its source.
    fileprivate func adding(_ remark: String) -> Self {
        var reading = self
        if !remark.isEmpty { reading.source += "; \(remark)" }
        return reading
    }
}
