import ClarityScheduler

/// Reads from `/sys/class/power_supply` whether this machine is on external power, and how full its
/// batteries are.
struct PowerProbe {
    private static let folder = "/sys/class/power_supply"

    private var mains: [PowerSupply] = []
    private var ports: [PowerSupply] = []
    private var units: [PowerSupply] = []
    private var batteries: [PowerSupply] = []
    /// Why the folder itself cannot be read.
    private var folderFault: HostTree.Fault?

    /// The reasons why entries of unknown type are left out, one for each entry.
    ///
    /// New kernels add types. Such an entry matters only if no other entry decides: a machine that
    /// has no other entry may have a battery.
    private(set) var notes: [String] = []

    init(_ tree: HostTree) {
        do throws(HostTree.Fault) {
            for name in try tree.names(in: PowerProbe.folder) {
                guard let supply = PowerSupply("\(PowerProbe.folder)/\(name)", in: tree) else {
                    continue
                }
                switch supply.kind {
                case .mains: mains.append(supply)
                case .usb: ports.append(supply)
                case .ups: units.append(supply)
                case .battery: batteries.append(supply)
                case .unreadable(let fault): notes.append(fault.text)
                }
            }
        } catch {
            // A machine whose kernel has no such folder has no battery.
            if !error.isAbsent { folderFault = error }
        }
    }

    /// Whether this machine is on external power.
    ///
    /// As a rule, a supply that says no wins over one that says yes. In particular:
    ///
    /// - A mains adapter that is online wins over a draining battery, which may drain under heavy
    ///   load.
    /// - A draining battery wins over a USB port that is online, because the port may be feeding a
    ///   telephone.
    /// - A charging battery wins over ports that are offline, because not every inlet is a port
    ///   that reports. It does not win over a mains adapter that is offline, because the kernel
    ///   reports the adapter's change before the battery's.
    ///
    /// A machine with neither a battery nor a UPS runs, so it has external power. A file that
    /// cannot be read never makes a yes.
    var externalPower: Conditions.Reading<Bool> {
        if let folderFault { return .unknown(folderFault.text) }
        let certain =
            online(units, false) ?? status(units, .discharging, false) ?? online(mains, true)
        if let certain { return certain }
        if !batteries.isEmpty { return powerBesideBattery }
        if let unit = units.first { return power(of: unit) }
        if let note = notes.first { return .unknown(note) }
        return Conditions.Reading(true, source: "no battery in \(PowerProbe.folder)")
    }

    /// The answer when no mains adapter is online and there is a battery.
    private var powerBesideBattery: Conditions.Reading<Bool> {
        let mainsFault = mains.lazy.compactMap(\.isOnline.fault).first
        let certain =
            status(batteries, .discharging, false) ?? online(ports, true)
            ?? (mainsFault == nil ? online(mains, false) : nil)
            ?? status(batteries, .charging, true)
        if let certain { return certain }
        if let fault = mainsFault ?? ports.lazy.compactMap(\.isOnline.fault).first {
            return .unknown(fault.text)
        }
        if let port = online(ports, false) { return port }
        // No inlet reports anything. Power bypasses a battery that neither drains nor charges, so
        // another battery comes first.
        return power(of: batteries.first { !$0.isFedPast } ?? batteries[0])
    }

    /// Returns the answer of a battery or UPS that is not discharging.
    private func power(of store: PowerSupply) -> Conditions.Reading<Bool> {
        if store.isOnline.value == true { return answer(true, store, "online") }
        switch store.status {
        case .value(.unknown): return .unknown("\(store.path)/status: not told")
        case .value: return answer(true, store, "status")
        case .fault(let fault): return .unknown(fault.text)
        case .absent:
            if let fault = store.isOnline.fault { return .unknown(fault.text) }
            return .unknown("\(store.path): neither `online` nor `status`")
        }
    }

    /// Returns the answer of the first supply that is or is not online; `nil` if there is none.
    private func online(_ supplies: [PowerSupply], _ value: Bool) -> Conditions.Reading<Bool>? {
        supplies.first { $0.isOnline.value == value }.map { answer(value, $0, "online") }
    }

    /// Returns an answer from the first supply with a status; `nil` if there is none.
    private func status(
        _ supplies: [PowerSupply], _ status: PowerSupply.Status, _ value: Bool
    ) -> Conditions.Reading<Bool>? {
        supplies.first { $0.status.value == status }.map { answer(value, $0, "status") }
    }

    private func answer(
        _ value: Bool, _ supply: PowerSupply, _ file: String
    ) -> Conditions.Reading<Bool> {
        Conditions.Reading(value, source: "\(supply.path)/\(file)")
    }

    /// The charge of all batteries together, including a UPS's, rounded down.
    ///
    /// Batteries are weighted by their energy if all report it, else by their charge if all report
    /// that. Otherwise each counts alike.
    var battery: Conditions.Reading<Conditions.Battery> {
        if let folderFault { return .unknown(folderFault.text) }
        let stores = batteries + units.filter { $0.charge.percent != nil }
        guard let first = stores.first else {
            if let note = notes.first { return .unknown(note) }
            return Conditions.Reading(.absent, source: "no battery in \(PowerProbe.folder)")
        }
        let source =
            stores.count == 1 ? first.path : "\(stores.count) batteries in \(PowerProbe.folder)"
        for level in [\PowerSupply.Charge.energy.value, \PowerSupply.Charge.current.value] {
            let levels = stores.compactMap { $0.charge[keyPath: level] }
            guard levels.count == stores.count else { continue }
            let now = levels.reduce(0) { $0 + min($1.now, $1.full) }
            let full = levels.reduce(0) { $0 + $1.full }
            return Conditions.Reading(.charge(percent: Int(now * 100 / full)), source: source)
        }
        if let silent = stores.first(where: { $0.charge.percent == nil }) {
            return .unknown(silent.charge.fault?.text ?? "\(silent.path): no measure of charge")
        }
        let percents = stores.compactMap(\.charge.percent)
        let mean = percents.reduce(0, +) / percents.count
        return Conditions.Reading(.charge(percent: mean), source: source)
    }
}

extension PowerSupply {
    /// Whether the battery reports that it neither drains nor charges.
    fileprivate var isFedPast: Bool {
        status.value == .full || status.value == .notCharging
    }
}

/// Reads from the firmware's power profiles whether this machine saves power.
struct PowerProfileProbe {
    /// The drivers' own profiles, since Linux 6.14
    /// (Documentation/ABI/testing/sysfs-class-platform-profile).
    private static let folder = "/sys/class/platform-profile"
    /// One profile for all drivers, since Linux 5.12; `custom` if they differ.
    private static let legacy = "/sys/firmware/acpi/platform_profile"
    private static let others: Set<String> = [
        "cool", "quiet", "balanced", "balanced-performance", "performance", "max-power", "custom",
    ]

    let tree: HostTree

    /// Whether a profile is `low-power`; `nil` if this machine has no profiles, so nothing in its
    /// kernel saves power.
    var lowPower: Conditions.Reading<Bool>? {
        var paths: [String] = []
        do throws(HostTree.Fault) {
            paths = try tree.names(in: Self.folder).map { "\(Self.folder)/\($0)/profile" }
        } catch {
            if !error.isAbsent { return .unknown(error.text) }
        }
        // The kernel announces changes of the drivers' own profiles as device events.
        let isSampled = paths.isEmpty
        if isSampled { paths = [Self.legacy] }
        var first: Conditions.Reading<Bool>?
        for path in paths {
            var reading: Conditions.Reading<Bool>
            do throws(HostTree.Fault) {
                guard let profile = try tree.textIfPresent(path) else { continue }
                let isKnown = profile == "low-power" || Self.others.contains(profile)
                reading =
                    isKnown
                    ? Conditions.Reading(profile == "low-power", source: path)
                    : .unknown("\(path): not a known profile")
            } catch {
                reading = .unknown(error.text)
            }
            reading.isSampled = isSampled
            if reading.value == true { return reading }
            // Unknown wins over no.
            if first == nil || reading.value == nil { first = reading }
        }
        return first
    }
}

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
        // Some drivers do not say whose the battery is.
        if scope.value != "System", PowerSupply.isOfInputDevice(path, tree) { return nil }
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

    /// Whether an entry is the battery of a keyboard, a mouse, a pen or a game controller: by the
    /// name that the kernel gives it (drivers/hid/hid-input.c), or by the bus of its device.
    private static func isOfInputDevice(_ path: String, _ tree: HostTree) -> Bool {
        if path.split(separator: "/").last?.hasPrefix("hid-") == true { return true }
        let device = Shown { () throws(HostTree.Fault) in
            try tree.textIfPresent("\(path)/device/modalias")
        }
        return device.value?.hasPrefix("hid:") == true
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
