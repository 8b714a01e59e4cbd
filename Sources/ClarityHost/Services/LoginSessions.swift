import ClarityScheduler

/// What logind says of the people at this machine.
///
/// Its D-Bus interfaces `org.freedesktop.login1.Manager` and `.Session` (org.freedesktop.login1(5)).
struct LoginSessions: Sendable {
    /// The people who are logged in, at the machine or from afar.
    struct Presence: Hashable, Sendable {
        /// How many sessions people have; a greeter, or a service that works for somebody, is none.
        var sessions: Int
        /// Whether all of them are idle; true where there is none.
        var isIdle: Bool
        /// Since when it is as `isIdle` says, where logind knows.
        var since: Instant?
    }

    private static let login = BusPlace(
        path: "/org/freedesktop/login1", interface: "org.freedesktop.login1.Manager")
    private static let session = "org.freedesktop.login1.Session"

    static let interest = BusInterest(
        title: "logind", service: "org.freedesktop.login1",
        objects: [login: ["IdleHint", "IdleSinceHint"]],
        list: BusInterest.List(
            path: login.path, interface: login.interface, member: "ListSessions",
            layout: .paths(leading: "suss"), signals: ["SessionNew", "SessionRemoved"],
            wanted: [session: ["Class"]]))

    let service: BusService

    init(_ service: BusService) { self.service = service }

    var presence: ServiceAnswer<Presence> {
        service.properties(at: LoginSessions.login.path, LoginSessions.login.interface)
            .with(service.objects()).from("IdleHint")
            .understood { said throws(Misunderstood) in
                let (login, sessions) = said
                return Presence(
                    sessions: try LoginSessions.count(sessions),
                    isIdle: try login.truth("IdleHint"),
                    since: try LoginSessions.instant(login))
            }
    }

    /// The sessions of people: the classes that pam_systemd(8) has for them.
    private static func count(_ sessions: BusObjects) throws(Misunderstood) -> Int {
        var count = 0
        for interfaces in sessions.values {
            switch try (interfaces[session] ?? [:]).text("Class") {
            case "user", "user-early", "user-light", "user-early-light", "user-incomplete":
                count += 1
            default: break
            }
        }
        return count
    }

    /// Microseconds since 1970; 0 is none.
    private static func instant(_ login: BusProperties) throws(Misunderstood) -> Instant? {
        let microseconds = try login.number("IdleSinceHint", in: 0...Int64.max)
        return microseconds == 0
            ? nil : Instant(millisecondsSince1970: microseconds / 1000)
    }
}
