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

/// What power-profiles-daemon, or a substitute for it, knows about the power profile.
///
/// It reads the interface `org.freedesktop.UPower.PowerProfiles`, which was called
/// `net.hadess.PowerProfiles` before version 0.20.
struct PowerProfiles: Sendable {
    private static let daemon = BusObject(
        path: "/org/freedesktop/UPower/PowerProfiles",
        interface: "org.freedesktop.UPower.PowerProfiles")
    private static let formerDaemon = BusObject(
        path: "/net/hadess/PowerProfiles", interface: "net.hadess.PowerProfiles")

    static let subscription = BusSubscription(
        title: "power-profiles-daemon", service: "org.freedesktop.UPower.PowerProfiles",
        objects: [daemon: ["ActiveProfile"]])
    static let formerSubscription = BusSubscription(
        title: "power-profiles-daemon", service: "net.hadess.PowerProfiles",
        objects: [formerDaemon: ["ActiveProfile"]])

    let service: BusService
    let former: BusService

    /// Whether the machine saves power, because a person chose so or because its battery is low.
    var isLowPower: ServiceAnswer<Bool> {
        let now = PowerProfiles.isLowPower(service, PowerProfiles.daemon)
        guard case .unavailable = now else { return now }
        return PowerProfiles.isLowPower(former, PowerProfiles.formerDaemon)
    }

    private static func isLowPower(
        _ service: BusService, _ daemon: BusObject
    ) -> ServiceAnswer<Bool> {
        service.properties(of: daemon).from("ActiveProfile")
            .understood { properties throws(Misunderstood) in
                switch try properties.text("ActiveProfile") {
                case "power-saver": true
                case "balanced", "performance": false
                case let other:
                    throw Misunderstood(reason: "\(BusValue.text(other)) is no profile")
                }
            }
    }
}

/// What UPower knows about the power supply.
///
/// It reads the D-Bus interfaces `org.freedesktop.UPower` and `org.freedesktop.UPower.Device`. The
/// device is the display device, which represents all batteries together.
struct UPower: Sendable {
    private static let daemon = BusObject(
        path: "/org/freedesktop/UPower", interface: "org.freedesktop.UPower")
    private static let display = BusObject(
        path: "/org/freedesktop/UPower/devices/DisplayDevice",
        interface: "org.freedesktop.UPower.Device")

    static let subscription = BusSubscription(
        title: "UPower", service: "org.freedesktop.UPower",
        objects: [
            daemon: ["OnBattery"],
            display: ["IsPresent", "Type", "Percentage"],
        ])

    let service: BusService

    /// Whether only a battery or a UPS powers this machine.
    var isOnBattery: ServiceAnswer<Bool> {
        service.properties(of: UPower.daemon).from("OnBattery")
            .understood { properties throws(Misunderstood) in try properties.truth("OnBattery") }
    }

    /// The charge of all batteries together, rounded down.
    var battery: ServiceAnswer<Conditions.Battery> {
        service.properties(of: UPower.display).from("DisplayDevice")
            .understood { device throws(Misunderstood) in
                guard try device.truth("IsPresent") else { return .absent }
                // A battery or a UPS. The other types are mice, telephones and the like.
                _ = try device.number("Type", in: 2...3)
                let percent = try device.real("Percentage", in: 0...100)
                return .charge(percent: Int(percent.rounded(.down)))
            }
    }
}

/// What logind knows about the people who use this machine.
///
/// It reads the D-Bus interfaces `org.freedesktop.login1.Manager` and `.Session`
/// (org.freedesktop.login1(5)).
struct LoginSessions: Sendable {
    /// The people who are logged in, locally or remotely.
    struct Presence: Hashable, Sendable {
        /// The number of sessions of people. Greeters, and services that work for a user, do not
        /// count.
        var sessions: Int
        /// Whether all sessions are idle; true if there are none.
        var isIdle: Bool
        /// Since when `isIdle` has its value; `nil` if logind does not know.
        var since: Instant?
        /// Whether all sessions announce when they become idle or active. Desktops do, terminals do
        /// not.
        var isAnnounced = true
    }

    private static let login = BusObject(
        path: "/org/freedesktop/login1", interface: "org.freedesktop.login1.Manager")
    private static let session = "org.freedesktop.login1.Session"

    static let subscription = BusSubscription(
        title: "logind", service: "org.freedesktop.login1",
        objects: [login: ["IdleHint", "IdleSinceHint"]],
        list: BusSubscription.List(
            path: login.path, interface: login.interface, member: "ListSessions",
            layout: .paths(leading: "suss"), signals: ["SessionNew", "SessionRemoved"],
            wanted: [session: ["Class", "Type"]]))

    let service: BusService

    var presence: ServiceAnswer<Presence> {
        service.properties(of: LoginSessions.login)
            .with(service.objects()).from("IdleHint")
            .understood { said throws(Misunderstood) in
                let (login, sessions) = said
                let types = try LoginSessions.types(sessions)
                return Presence(
                    sessions: types.count, isIdle: try login.truth("IdleHint"),
                    since: try LoginSessions.instant(login),
                    isAnnounced: types.allSatisfy(["x11", "wayland", "mir"].contains))
            }
    }

    /// Returns the types of the sessions of people, which have one of the classes that
    /// pam_systemd(8) defines for them.
    private static func types(_ sessions: BusObjects) throws(Misunderstood) -> [String] {
        var types: [String] = []
        for interfaces in sessions.values {
            let properties = interfaces[session] ?? [:]
            switch try properties.text("Class") {
            case "user", "user-early", "user-light", "user-early-light", "user-incomplete":
                types.append(try properties.text("Type"))
            default: break
            }
        }
        return types
    }

    /// Returns when the idle state last changed, from microseconds since 1970; `nil` for 0.
    private static func instant(_ login: BusProperties) throws(Misunderstood) -> Instant? {
        let microseconds = try login.number("IdleSinceHint", in: 0...Int64.max)
        return microseconds == 0
            ? nil : Instant(millisecondsSince1970: microseconds / 1000)
    }
}
