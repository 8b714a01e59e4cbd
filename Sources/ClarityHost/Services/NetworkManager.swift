import ClarityScheduler

/// What NetworkManager knows about the network.
///
/// It reads the D-Bus interface `org.freedesktop.NetworkManager`, with the values of
/// `NMConnectivityState` and `NMMetered`.
struct NetworkManager: Sendable {
    /// How much of the network this machine reaches.
    enum Connectivity: Hashable, Sendable {
        /// The machine is not connected.
        case none
        /// A captive portal wants a person to sign in first.
        case portal
        /// The machine is connected, but does not reach the Internet.
        case limited
        case full
    }

    /// Whether the connection is paid for by the byte.
    enum Metered: Hashable, Sendable {
        case yes, no
        /// Nobody set it. NetworkManager guesses from the kind of the connection, such as a
        /// telephone's.
        case guessYes, guessNo
    }

    private static let daemon = BusObject(
        path: "/org/freedesktop/NetworkManager", interface: "org.freedesktop.NetworkManager")

    static let subscription = BusSubscription(
        title: "NetworkManager", service: "org.freedesktop.NetworkManager",
        objects: [daemon: ["Connectivity", "Metered", "PrimaryConnectionType"]])

    let service: BusService

    init(_ service: BusService) { self.service = service }

    var connectivity: ServiceAnswer<Connectivity> {
        said("Connectivity") { properties throws(Misunderstood) in
            switch try properties.number("Connectivity", in: 0...4) {
            case 1: .none
            case 2: .portal
            case 3: .limited
            case 4: .full
            default: throw Misunderstood(reason: "not known to it")
            }
        }
    }

    var metered: ServiceAnswer<Metered> {
        said("Metered") { properties throws(Misunderstood) in
            switch try properties.number("Metered", in: 0...4) {
            case 1: .yes
            case 2: .no
            case 3: .guessYes
            case 4: .guessNo
            default: throw Misunderstood(reason: "not known to it")
            }
        }
    }

    /// The kind of the connection that has the default route: `802-3-ethernet`, `802-11-wireless`,
    /// `gsm`, `vpn`; empty if there is none.
    var primaryConnectionType: ServiceAnswer<String> {
        said("PrimaryConnectionType") { properties throws(Misunderstood) in
            try properties.text("PrimaryConnectionType")
        }
    }

    private func said<Meaning>(
        _ property: String, _ read: (BusProperties) throws(Misunderstood) -> Meaning
    ) -> ServiceAnswer<Meaning> {
        service.properties(of: NetworkManager.daemon).from(property).understood(read)
    }
}
