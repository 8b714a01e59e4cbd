import ClarityScheduler

/// What the services of this machine say of its conditions, each in its own words.
struct ServiceAnswers: Sendable {
    /// NetworkManager's.
    var connectivity: ServiceAnswer<NetworkManager.Connectivity>
    /// NetworkManager's.
    var metered: ServiceAnswer<NetworkManager.Metered>
    /// NetworkManager's: `802-11-wireless`; empty without a connection.
    var primaryConnectionType: ServiceAnswer<String>
    /// ModemManager's; NetworkManager's where that uses no modem.
    var roaming: ServiceAnswer<Bool>
    /// UPower's: whether nothing but a battery or a UPS feeds the machine.
    var onBattery: ServiceAnswer<Bool>
    /// UPower's.
    var battery: ServiceAnswer<Conditions.Battery>
    /// power-profiles-daemon's.
    var lowPower: ServiceAnswer<Bool>
    /// logind's.
    var people: ServiceAnswer<LoginSessions.Presence>

    /// Whether there is a bus, which announces who comes and goes.
    var isBusReached: Bool

    /// All that is listened for.
    static let interests = [
        NetworkManager.interest, ModemManager.interest, UPower.interest, PowerProfiles.interest,
        PowerProfiles.formerInterest, LoginSessions.interest,
    ]

    /// Creates the answers from what is known of each service.
    init(_ known: (BusSubscription) -> BusService) {
        let network = NetworkManager(known(NetworkManager.interest))
        let modems = ModemManager(known(ModemManager.interest))
        let power = UPower(known(UPower.interest))
        let profiles = PowerProfiles(
            known(PowerProfiles.interest), former: known(PowerProfiles.formerInterest))
        connectivity = network.connectivity
        metered = network.metered
        primaryConnectionType = network.primaryConnectionType
        roaming = .roaming(modems.isRoaming, over: network.primaryConnectionType)
        onBattery = power.isOnBattery
        battery = power.battery
        lowPower = profiles.isLowPower
        people = LoginSessions(known(LoginSessions.interest)).presence
        isBusReached = known(LoginSessions.interest).isReached
    }

    /// Whether others say the same, at whatever time it was said.
    func say(as others: ServiceAnswers) -> Bool {
        connectivity.says(as: others.connectivity)
            && metered.says(as: others.metered)
            && primaryConnectionType.says(as: others.primaryConnectionType)
            && roaming.says(as: others.roaming)
            && onBattery.says(as: others.onBattery)
            && battery.says(as: others.battery)
            && lowPower.says(as: others.lowPower)
            && people.says(as: others.people)
    }
}
