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
