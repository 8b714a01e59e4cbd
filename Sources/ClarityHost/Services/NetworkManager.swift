import ClarityScheduler

/// What NetworkManager knows about the network.
///
/// It reads the D-Bus interface `org.freedesktop.NetworkManager`, with the values of
/// `NMConnectivityState` and `NMMetered`.
struct NetworkManager: Sendable {
    /// How much of the network this machine reaches.
    enum Connectivity: Int64, Sendable {
        /// The machine is not connected.
        case none = 1
        /// A captive portal wants a person to sign in first.
        case portal
        /// The machine is connected, but does not reach the Internet.
        case limited
        case full
    }

    /// Whether the connection is paid for by the byte.
    enum Metered: Int64, Sendable {
        case yes = 1
        case no
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

    var connectivity: ServiceAnswer<Connectivity> { known("Connectivity") }

    var metered: ServiceAnswer<Metered> { known("Metered") }

    /// Returns a property with a number of 0 to 4, where 0 means that NetworkManager does not know.
    private func known<Meaning: RawRepresentable<Int64>>(
        _ property: String
    ) -> ServiceAnswer<Meaning> {
        said(property) { properties throws(Misunderstood) in
            guard let meaning = Meaning(rawValue: try properties.number(property, in: 0...4)) else {
                throw Misunderstood(reason: "not known to it")
            }
            return meaning
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
