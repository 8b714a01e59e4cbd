/// One entry of `/sys/class/power_supply` that may feed this machine, as far as it can be read
/// (the kernel's Documentation/ABI/testing/sysfs-class-power).
///
/// Each file is read for itself: drivers answer some with an error while they tell the rest.
struct PowerSupply {
    /// What an entry is; `usb` covers everything that may be charging rather than feeding.
    enum Kind {
        case mains, usb, ups, battery
        /// What it is is not told, or told in a word that is not known; it may be anything.
        case untold(HostTree.Fault)
    }

    /// What one file says.
    enum Shown<Value> {
        case value(Value)
        /// The entry does not offer it.
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
        /// Held where it is, as by a threshold.
        case notCharging = "Not charging"
        case unknown = "Unknown"
    }

    var path: String
    var kind: Kind
    var isOnline: Shown<Bool>
    var status: Shown<Status>
    var charge: Charge

    /// How full a supply is, in the units that it offers.
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

    /// Reads one entry; `nil` for one that does not feed this machine: a mouse's battery, a
    /// battery's empty bay, or what was unplugged since it was listed.
    init?(_ path: String, in tree: HostTree) {
        guard tree.exists(path) else { return nil }
        let scope = Shown { () throws(HostTree.Fault) in try tree.textIfPresent("\(path)/scope") }
        if scope.value == "Device" { return nil }
        kind = PowerSupply.kind(path, tree)
        // A mouse's battery must not pass for the machine's.
        if let fault = scope.fault { kind = .untold(fault) }
        if case .battery = kind {
            let present = Shown { () throws(HostTree.Fault) in
                try tree.countIfPresent("\(path)/present")
            }
            if present.value == 0 { return nil }
        }
        self.path = path
        // 2 stands for a source whose voltage can be programmed.
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
            // Chargers of telephones and tablets: a pad, and Apple's older ones.
            case "Wireless", "BrickID": return .usb
            case let type where type.hasPrefix("USB"): return .usb
            default:
                return .untold(
                    HostTree.Fault(path: "\(path)/type", reason: "not a known type of supply"))
            }
        } catch {
            return .untold(error)
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
    /// Percent, rounded down, as the supply says itself or else as follows from what it tells; `nil`
    /// when it tells nothing.
    var percent: Int? {
        if let capacity = capacity.value { return capacity }
        return (energy.value ?? current.value).map { level in
            Int(min(level.now, level.full) * 100 / level.full)
        }
    }

    /// Why there is no percentage.
    var fault: HostTree.Fault? { capacity.fault ?? energy.fault ?? current.fault }
}
