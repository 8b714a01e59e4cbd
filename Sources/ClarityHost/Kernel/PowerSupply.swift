/// One entry of `/sys/class/power_supply` that feeds this machine, as far as it can be read.
struct PowerSupply {
    /// What an entry is; `usb` covers everything that may be charging rather than feeding.
    enum Kind {
        case mains, usb, ups, battery
    }

    var path: String
    var kind: Kind
    /// `nil` where the entry does not offer it.
    var isOnline: Bool?
    /// `Charging`, `Discharging`, `Full`, `Not charging` or `Unknown`.
    var status: String?
    var charge: Charge

    /// How full a supply is, in the finest unit that it offers.
    struct Charge {
        /// Of the same kind for `now` and `full`: microwatt hours.
        var energy: Level?
        /// Microampere hours.
        var current: Level?
        /// Percent, 0 to 100.
        var capacity: Int?

        struct Level {
            var now: Int64
            var full: Int64
        }
    }

    /// Reads one entry; `nil` for one that does not feed this machine: a mouse's battery, or a
    /// battery's empty bay.
    init?(_ path: String, in tree: HostTree) throws(HostTree.Fault) {
        let type = try tree.text("\(path)/type")
        switch type {
        case "Mains": kind = .mains
        case "UPS": kind = .ups
        case "Battery": kind = .battery
        case "Wireless": kind = .usb
        case _ where type.hasPrefix("USB"): kind = .usb
        default:
            throw HostTree.Fault(path: "\(path)/type", reason: "not a known type of supply")
        }
        if try tree.textIfPresent("\(path)/scope") == "Device" { return nil }
        if kind == .battery, try tree.countIfPresent("\(path)/present") == 0 { return nil }
        self.path = path
        // 2 stands for a source whose voltage can be programmed.
        isOnline = try tree.countIfPresent("\(path)/online").map { $0 > 0 }
        status = try tree.textIfPresent("\(path)/status")
        let known = ["Charging", "Discharging", "Full", "Not charging", "Unknown"]
        if let status, !known.contains(status) {
            throw HostTree.Fault(path: "\(path)/status", reason: "not a known status")
        }
        charge = Charge(
            energy: try PowerSupply.level("energy", path, tree),
            current: try PowerSupply.level("charge", path, tree),
            capacity: try PowerSupply.capacity(path, tree))
    }

    private static func level(
        _ name: String, _ path: String, _ tree: HostTree
    ) throws(HostTree.Fault) -> Charge.Level? {
        guard let now = try tree.countIfPresent("\(path)/\(name)_now"),
            let full = try tree.countIfPresent("\(path)/\(name)_full"), full > 0
        else { return nil }
        return Charge.Level(now: now, full: full)
    }

    private static func capacity(
        _ path: String, _ tree: HostTree
    ) throws(HostTree.Fault) -> Int? {
        guard let percent = try tree.countIfPresent("\(path)/capacity") else { return nil }
        guard percent <= 100 else {
            throw HostTree.Fault(path: "\(path)/capacity", reason: "not a percentage")
        }
        return Int(percent)
    }
}
