import ClarityScheduler

/// The answers of this machine's services, each with the values of its service.
struct ServiceAnswers: Sendable {
    /// From NetworkManager.
    var connectivity: ServiceAnswer<NetworkManager.Connectivity>
    /// From NetworkManager.
    var metered: ServiceAnswer<NetworkManager.Metered>
    /// From NetworkManager: `802-11-wireless`; empty without a connection.
    var primaryConnectionType: ServiceAnswer<String>
    /// From ModemManager; from NetworkManager if the default route uses Ethernet or Wi-Fi.
    var roaming: ServiceAnswer<Bool>
    /// From UPower: whether only a battery or a UPS powers the machine.
    var onBattery: ServiceAnswer<Bool>
    /// From UPower.
    var battery: ServiceAnswer<Conditions.Battery>
    /// From power-profiles-daemon.
    var lowPower: ServiceAnswer<Bool>
    /// From logind.
    var people: ServiceAnswer<LoginSessions.Presence>

    /// Whether there is a connection to the bus, which announces services that start and stop.
    var isBusReached: Bool

    /// The subscriptions to all services.
    static let subscriptions = [
        NetworkManager.subscription, ModemManager.subscription, UPower.subscription,
        PowerProfiles.subscription,
        PowerProfiles.formerSubscription, LoginSessions.subscription,
    ]

    /// Creates the answers from the state of each service.
    init(_ known: (BusSubscription) -> BusService) {
        let network = NetworkManager(service: known(NetworkManager.subscription))
        let modems = ModemManager(service: known(ModemManager.subscription))
        let power = UPower(service: known(UPower.subscription))
        let profiles = PowerProfiles(
            service: known(PowerProfiles.subscription),
            former: known(PowerProfiles.formerSubscription))
        connectivity = network.connectivity
        metered = network.metered
        primaryConnectionType = network.primaryConnectionType
        roaming = .roaming(modems.isRoaming, over: network.primaryConnectionType)
        onBattery = power.isOnBattery
        battery = power.battery
        lowPower = profiles.isLowPower
        people = LoginSessions(service: known(LoginSessions.subscription)).presence
        isBusReached = known(LoginSessions.subscription).isReached
    }

    /// Returns whether the answers of `others` are the same, apart from their times.
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
