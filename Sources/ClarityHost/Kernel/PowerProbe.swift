import ClarityScheduler

/// Tells from `/sys/class/power_supply` what feeds this machine and how long it may last.
struct PowerProbe {
    private static let folder = "/sys/class/power_supply"

    private var supplies: [PowerSupply] = []
    private var faults: [HostTree.Fault] = []

    init(_ tree: HostTree) {
        do throws(HostTree.Fault) {
            for name in try tree.names(in: PowerProbe.folder) {
                do throws(HostTree.Fault) {
                    if let supply = try PowerSupply("\(PowerProbe.folder)/\(name)", in: tree) {
                        supplies.append(supply)
                    }
                } catch {
                    faults.append(error)
                }
            }
        } catch {
            // A kernel without the folder drives a machine without a battery.
            if !error.isAbsent { faults.append(error) }
        }
    }

    /// Whether power comes from outside.
    ///
    /// What says "no" wins over what says "yes" but for a mains adapter that is on line: that is
    /// believed even while a battery drains, as under heavy load. A USB port that is on line may
    /// be feeding a telephone, so a draining battery is believed first. A machine with neither
    /// battery nor UPS runs, so it has power. What cannot be read never makes a "yes".
    var externalPower: Conditions.Reading<Bool> {
        let stores = supplies.filter { $0.kind == .battery }
        let units = supplies.filter { $0.kind == .ups }
        let mains = supplies.filter { $0.kind == .mains }
        let ports = supplies.filter { $0.kind == .usb }
        func answer(_ value: Bool, _ supply: PowerSupply, _ file: String)
            -> Conditions.Reading<Bool>
        {
            Conditions.Reading(value, source: "\(supply.path)/\(file)")
        }

        if let unit = units.first(where: { $0.isOnline == false }) {
            return answer(false, unit, "online")
        }
        if let unit = units.first(where: { $0.status == "Discharging" }) {
            return answer(false, unit, "status")
        }
        if let adapter = mains.first(where: { $0.isOnline == true }) {
            return answer(true, adapter, "online")
        }
        if let store = stores.first(where: { $0.status == "Discharging" }) {
            return answer(false, store, "status")
        }
        if !stores.isEmpty, let adapter = mains.first(where: { $0.isOnline == false }) {
            return answer(false, adapter, "online")
        }
        if let fault = faults.first { return .unknown(fault.text) }
        if let unit = units.first {
            guard unit.isOnline == true || unit.status != nil else {
                return .unknown("\(unit.path): neither `online` nor `status`")
            }
            return answer(true, unit, unit.isOnline == true ? "online" : "status")
        }
        guard let store = stores.first else {
            return Conditions.Reading(true, source: "no battery in \(PowerProbe.folder)")
        }
        if let port = ports.first(where: { $0.isOnline == true }) {
            return answer(true, port, "online")
        }
        if let silent = stores.first(where: { $0.status == nil || $0.status == "Unknown" }) {
            return .unknown("\(silent.path)/status: not told")
        }
        return answer(true, store, "status")
    }

    /// The charge of all batteries together, a UPS's included, rounded down.
    ///
    /// Batteries of different sizes weigh by their energy, else by their charge, where all tell
    /// it; otherwise each counts alike.
    var battery: Conditions.Reading<Conditions.Battery> {
        if let fault = faults.first { return .unknown(fault.text) }
        let stores = supplies.filter { supply in
            supply.kind == .battery || supply.kind == .ups && supply.charge.capacity != nil
        }
        guard let first = stores.first else {
            return Conditions.Reading(.absent, source: "no battery in \(PowerProbe.folder)")
        }
        let source =
            stores.count == 1 ? first.path : "\(stores.count) batteries in \(PowerProbe.folder)"
        for level in [\PowerSupply.Charge.energy, \PowerSupply.Charge.current] {
            let levels = stores.compactMap { $0.charge[keyPath: level] }
            guard levels.count == stores.count else { continue }
            let now = levels.reduce(0) { $0 + min($1.now, $1.full) }
            let full = levels.reduce(0) { $0 + $1.full }
            return Conditions.Reading(.charge(percent: Int(now * 100 / full)), source: source)
        }
        let capacities = stores.compactMap(\.charge.capacity)
        guard capacities.count == stores.count else {
            return .unknown("\(source): no common measure of charge")
        }
        let mean = capacities.reduce(0, +) / capacities.count
        return Conditions.Reading(.charge(percent: mean), source: source)
    }
}
