import ClarityScheduler

/// What ModemManager knows about modems.
///
/// It reads the D-Bus interfaces `org.freedesktop.ModemManager1.Modem`, with the values of
/// `MMModemState`, and `.Modem.Modem3gpp`, with those of `MMModem3gppRegistrationState`.
struct ModemManager: Sendable {
    private static let modem = "org.freedesktop.ModemManager1.Modem"
    private static let network = "org.freedesktop.ModemManager1.Modem.Modem3gpp"

    static let subscription = BusSubscription(
        title: "ModemManager", service: "org.freedesktop.ModemManager1",
        list: BusSubscription.List(
            path: "/org/freedesktop/ModemManager1",
            interface: "org.freedesktop.DBus.ObjectManager", member: "GetManagedObjects",
            layout: .tree, signals: ["InterfacesAdded", "InterfacesRemoved"],
            wanted: [modem: ["State"], network: ["RegistrationState"]]))

    let service: BusService

    /// Whether any connected modem is in a foreign network; `false` if there is no modem.
    ///
    /// If one modem roams, the answer is true, even if the state of others is unknown.
    var isRoaming: ServiceAnswer<Bool> {
        service.objects().from("RegistrationState").understood { modems throws(Misunderstood) in
            var doubt: Misunderstood?
            for path in modems.keys.sorted() {
                do throws(Misunderstood) {
                    if try ModemManager.isRoaming(modems[path] ?? [:]) { return true }
                } catch {
                    doubt = doubt ?? error
                }
            }
            if let doubt { throw doubt }
            return false
        }
    }

    private static func isRoaming(
        _ interfaces: [String: BusProperties]
    ) throws(Misunderstood) -> Bool {
        guard let modem = interfaces[modem] else { return false }
        // -1 is a modem that failed, 11 a connected one.
        guard try modem.number("State", in: -1...11) == 11 else { return false }
        guard let network = interfaces[network] else {
            throw Misunderstood(reason: "a modem that is connected does not say to whose network")
        }
        switch try network.number("RegistrationState", in: 0...11) {
        case 4: throw Misunderstood(reason: "not known to it")
        // Roaming, roaming for SMS only, and roaming without a preference for calls.
        case 5, 7, 10: return true
        default: return false
        }
    }
}

extension ServiceAnswer<Bool> {
    /// Returns whether this machine's traffic goes through a foreign mobile network.
    ///
    /// A roaming modem beside a cable costs nothing. So if the default route is known to use
    /// Ethernet or Wi-Fi, the answer is false.
    static func roaming(
        _ modems: ServiceAnswer<Bool>, over connection: ServiceAnswer<String>
    ) -> ServiceAnswer<Bool> {
        switch connection.value {
        case "802-3-ethernet", "802-11-wireless": connection.understood { _ in false }
        default: modems
        }
    }
}
