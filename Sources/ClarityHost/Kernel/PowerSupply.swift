/// An entry of `/sys/class/power_supply` that may power this machine (the kernel's
/// Documentation/ABI/testing/sysfs-class-power).
///
/// Each file is read independently, because some drivers return an error for one file and a value
/// for the others.
struct PowerSupply {
    /// The type of an entry. `usb` covers every supply that may be charging another device.
    enum Kind {
        case mains, usb, ups, battery
        /// The type or the scope is unreadable, or the type is not a known word. The entry may be
        /// anything.
        case unreadable(HostTree.Fault)
    }

    /// The content of one file.
    enum Shown<Value> {
        case value(Value)
        /// The entry does not have this file.
        case absent
        case fault(HostTree.Fault)

        init(_ read: () throws(HostTree.Fault) -> Value?) {
            do throws(HostTree.Fault) {
                if let value = try read() { self = .value(value) } else { self = .absent }
            } catch {
                self = .fault(error)
            }
        }

        var value: Value? { if case .value(let value) = self { value } else { nil } }
        var fault: HostTree.Fault? { if case .fault(let fault) = self { fault } else { nil } }
    }

    enum Status: String {
        case charging = "Charging"
        case discharging = "Discharging"
        case full = "Full"
        /// Held at its level, for example by a charging threshold.
        case notCharging = "Not charging"
        case unknown = "Unknown"
    }

    var path: String
    var kind: Kind
    var isOnline: Shown<Bool>
    var status: Shown<Status>
    var charge: Charge

    /// How full a supply is, in the units that it reports.
    struct Charge {
        /// Microwatt hours.
        var energy: Shown<Level>
        /// Microampere hours.
        var current: Shown<Level>
        /// Percent, 0 to 100.
        var capacity: Shown<Int>

        struct Level {
            var now: Int64
            var full: Int64
        }
    }

    /// Reads an entry. Returns `nil` if it does not power this machine: a mouse's battery, an empty
    /// battery bay, or a supply that was unplugged since it was listed.
    init?(_ path: String, in tree: HostTree) {
        guard tree.exists(path) else { return nil }
        let scope = Shown { () throws(HostTree.Fault) in try tree.textIfPresent("\(path)/scope") }
        if scope.value == "Device" { return nil }
        kind = PowerSupply.kind(path, tree)
        // A mouse's battery must not pass for the machine's.
        if let fault = scope.fault { kind = .unreadable(fault) }
        if case .battery = kind {
            let present = Shown { () throws(HostTree.Fault) in
                try tree.countIfPresent("\(path)/present")
            }
            if present.value == 0 { return nil }
        }
        self.path = path
        // 2 means a supply with programmable voltage.
        isOnline = Shown { () throws(HostTree.Fault) in
            try tree.countIfPresent("\(path)/online").map { $0 > 0 }
        }
        status = Shown { () throws(HostTree.Fault) in
            guard let text = try tree.textIfPresent("\(path)/status") else { return nil }
            guard let status = Status(rawValue: text) else {
                throw HostTree.Fault(path: "\(path)/status", reason: "not a known status")
            }
            return status
        }
        charge = Charge(
            energy: PowerSupply.level("energy", path, tree),
            current: PowerSupply.level("charge", path, tree),
            capacity: Shown { () throws(HostTree.Fault) in
                guard let percent = try tree.countIfPresent("\(path)/capacity") else { return nil }
                guard percent <= 100 else {
                    throw HostTree.Fault(path: "\(path)/capacity", reason: "not a percentage")
                }
                return Int(percent)
            })
    }

    private static func kind(_ path: String, _ tree: HostTree) -> Kind {
        do throws(HostTree.Fault) {
            switch try tree.text("\(path)/type") {
            case "Mains": return .mains
            case "UPS": return .ups
            case "Battery": return .battery
            // Chargers of telephones and tablets: a wireless pad, and Apple's older chargers.
            case "Wireless", "BrickID": return .usb
            case let type where type.hasPrefix("USB"): return .usb
            default:
                return .unreadable(
                    HostTree.Fault(path: "\(path)/type", reason: "not a known type of supply"))
            }
        } catch {
            return .unreadable(error)
        }
    }

    private static func level(
        _ name: String, _ path: String, _ tree: HostTree
    ) -> Shown<Charge.Level> {
        Shown { () throws(HostTree.Fault) in
            guard let now = try tree.countIfPresent("\(path)/\(name)_now") else { return nil }
            for full in ["full", "full_design"] {
                if let full = try tree.countIfPresent("\(path)/\(name)_\(full)"), full > 0 {
                    return Charge.Level(now: now, full: full)
                }
            }
            return nil
        }
    }
}

extension PowerSupply.Charge {
    /// The charge in percent, rounded down: as the supply reports it, or else computed from its
    /// energy or charge; `nil` if it reports none of them.
    var percent: Int? {
        if let capacity = capacity.value { return capacity }
        return (energy.value ?? current.value).map { level in
            Int(min(level.now, level.full) * 100 / level.full)
        }
    }

    /// Why a file of the charge could not be read; `nil` if there was no fault.
    var fault: HostTree.Fault? { capacity.fault ?? energy.fault ?? current.fault }
}
