import ClarityScheduler

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
