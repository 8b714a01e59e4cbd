import ClarityScheduler

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
