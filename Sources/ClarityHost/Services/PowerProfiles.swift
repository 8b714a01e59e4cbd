import ClarityScheduler

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
