extension MockBus {
    /// A service that can run on the bus.
    public enum Service: String, CaseIterable, Sendable {
        case networkManager = "org.freedesktop.NetworkManager"
        case modemManager = "org.freedesktop.ModemManager1"
        case upower = "org.freedesktop.UPower"
        case powerProfiles = "org.freedesktop.UPower.PowerProfiles"
        case formerPowerProfiles = "net.hadess.PowerProfiles"
        case logind = "org.freedesktop.login1"
    }

    /// The value of a property, with a type of D-Bus.
    public enum Value: Sendable {
        case bool(Bool)
        case int32(Int)
        case uint32(Int)
        case uint64(UInt64)
        case double(Double)
        case string(String)
        /// An array of strings.
        case strings([String])
    }
}

extension MockBus.Service {
    /// The path of its main object.
    public var path: String {
        switch self {
        case .networkManager: "/org/freedesktop/NetworkManager"
        case .modemManager: "/org/freedesktop/ModemManager1"
        case .upower: "/org/freedesktop/UPower"
        case .powerProfiles: "/org/freedesktop/UPower/PowerProfiles"
        case .formerPowerProfiles: "/net/hadess/PowerProfiles"
        case .logind: "/org/freedesktop/login1"
        }
    }

    /// The interface of its main object.
    public var interface: String { self == .logind ? "\(rawValue).Manager" : rawValue }

    /// The arguments that select the mock in dbusmock.
    var mock: [String] {
        switch self {
        case .networkManager: ["--template", "networkmanager"]
        case .modemManager: ["--system", "--is-object-manager", rawValue, path, rawValue]
        case .upower: ["--template", "upower"]
        case .powerProfiles: ["--system", rawValue, path, rawValue]
        case .formerPowerProfiles: ["--template", "power_profiles_daemon"]
        case .logind: ["--template", "logind"]
        }
    }

    /// The properties that the mock lacks.
    var extras: [(String, MockBus.Value)] {
        switch self {
        case .networkManager:
            [("Metered", .uint32(4)), ("PrimaryConnectionType", .string("802-3-ethernet"))]
        case .powerProfiles: [("ActiveProfile", .string("balanced"))]
        case .modemManager, .upower, .formerPowerProfiles, .logind: []
        }
    }
}

extension MockBus.Value {
    var python: String {
        switch self {
        case .bool(let value): "dbus.Boolean(\(value ? "True" : "False"))"
        case .int32(let value): "dbus.Int32(\(value))"
        case .uint32(let value): "dbus.UInt32(\(value))"
        case .uint64(let value): "dbus.UInt64(\(value))"
        case .double(let value): "dbus.Double(float('\(value)'))"
        case .string(let value): "dbus.String('\(value)')"
        case .strings(let values):
            "dbus.Array([\(values.map { "'\($0)'" }.joined(separator: ", "))], signature='s')"
        }
    }
}
