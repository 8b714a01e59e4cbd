import ClarityScheduler

/// Tells from `/sys/class/power_supply` what feeds this machine and how long it may last.
struct PowerProbe {
    private static let folder = "/sys/class/power_supply"

    private var mains: [PowerSupply] = []
    private var ports: [PowerSupply] = []
    private var units: [PowerSupply] = []
    private var batteries: [PowerSupply] = []
    /// Why the folder itself cannot be read.
    private var folderFault: HostTree.Fault?

    /// Entries that are left out because what they are is not known, each with the reason.
    ///
    /// New kernels add types. What such an entry is matters only where nothing else tells: a machine
    /// whose only entry it is may have a battery.
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
                case .untold(let fault): notes.append(fault.text)
                }
            }
        } catch {
            // A kernel without the folder drives a machine without a battery.
            if !error.isAbsent { folderFault = error }
        }
    }

    /// Whether power comes from outside.
    ///
    /// What says "no" wins over what says "yes" but for a mains adapter that is on line: that is
    /// believed even while a battery drains, as under heavy load. A USB port that is on line may
    /// be feeding a telephone, so a draining battery is believed first. A battery that charges is
    /// believed over ports that are off line, since not every inlet is a port that tells, but not over
    /// a mains adapter: it is told of later than that. A machine with neither battery nor UPS runs, so it
    /// has power. What cannot be read never makes a "yes".
    var externalPower: Conditions.Reading<Bool> {
        if let folderFault { return .unknown(folderFault.text) }
        if let unit = units.first(where: { $0.isOnline.value == false }) {
            return answer(false, unit, "online")
        }
        if let unit = units.first(where: { $0.status.value == .discharging }) {
            return answer(false, unit, "status")
        }
        if let adapter = mains.first(where: { $0.isOnline.value == true }) {
            return answer(true, adapter, "online")
        }
        if !batteries.isEmpty { return powerBesideBattery }
        if let unit = units.first { return power(of: unit) }
        if let note = notes.first { return .unknown(note) }
        return Conditions.Reading(true, source: "no battery in \(PowerProbe.folder)")
    }

    /// No mains adapter is on line, and there is a battery.
    private var powerBesideBattery: Conditions.Reading<Bool> {
        if let battery = batteries.first(where: { $0.status.value == .discharging }) {
            return answer(false, battery, "status")
        }
        if let port = ports.first(where: { $0.isOnline.value == true }) {
            return answer(true, port, "online")
        }
        let mainsFault = mains.lazy.compactMap(\.isOnline.fault).first
        if mainsFault == nil, let adapter = mains.first(where: { $0.isOnline.value == false }) {
            return answer(false, adapter, "online")
        }
        if let battery = batteries.first(where: { $0.status.value == .charging }) {
            return answer(true, battery, "status")
        }
        if let fault = mainsFault ?? ports.lazy.compactMap(\.isOnline.fault).first {
            return .unknown(fault.text)
        }
        if let port = ports.first(where: { $0.isOnline.value == false }) {
            return answer(false, port, "online")
        }
        // No inlet tells anything. A battery that neither drains nor charges is fed past.
        return power(of: batteries.first { !$0.isFedPast } ?? batteries[0])
    }

    /// What a store of energy that does not drain says by itself.
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

    private func answer(
        _ value: Bool, _ supply: PowerSupply, _ file: String
    ) -> Conditions.Reading<Bool> {
        Conditions.Reading(value, source: "\(supply.path)/\(file)")
    }

    /// The charge of all batteries together, a UPS's included, rounded down.
    ///
    /// Batteries of different sizes weigh by their energy, else by their charge, where all tell
    /// it; otherwise each counts alike.
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
    /// Whether it says that it neither gives energy nor needs any.
    fileprivate var isFedPast: Bool {
        status.value == .full || status.value == .notCharging
    }
}
