import ClarityScheduler

/// `constraints:` as it stands in the file.
struct ConstraintsDraft: Sendable {
    /// What `network` may ask for.
    enum Network: String, CaseIterable, Sendable {
        case any
        case unmetered
        case notRoaming = "not_roaming"
        case none
    }

    var network: Field<Network>?
    var externalPower: Field<Bool>?
    var batteryAbove: Field<Int>?
    var notLowPower: Field<Bool>?
    var idle: Field<Bool>?
    var storageFreeBytes: Field<Int64>?
    var pressureBelow: Field<Int>?

    static let shape = Shape(
        ConstraintsDraft(),
        [
            Key(
                "network", { swap(&$0.network, &$1) }, .choice(of: Network.self),
                "the connection that must be there"),
            Key(
                "external_power", { swap(&$0.externalPower, &$1) }, .boolean,
                "run on external power only"),
            Key(
                "battery_above", { swap(&$0.batteryAbove, &$1) }, .percent(0...99),
                "run while the battery holds more than this; 0% asks nothing"),
            Key(
                "not_low_power", { swap(&$0.notLowPower, &$1) }, .boolean,
                "do not run while power is saved"),
            Key(
                "idle", { swap(&$0.idle, &$1) }, .boolean, "run only while nobody uses the machine"),
            Key(
                "storage_free", { swap(&$0.storageFreeBytes, &$1) }, .size(0...(1 << 50)),
                "the free space that must be there; 0MiB asks nothing"),
            Key(
                "pressure_below", { swap(&$0.pressureBelow, &$1) }, .percent(1...100),
                "run while tasks stall for less than this share of time"),
        ])

    /// The constraints that are wanted, in the order of the declaration.
    var constraints: [Constraint] {
        let network: Constraint? =
            switch self.network?.value {
            case .any: .connected
            case .unmetered: .unmetered
            case .notRoaming: .notRoaming
            case nil, .some(.none): nil
            }
        let wanted: [Constraint?] = [
            network,
            externalPower?.value == true ? .externalPower : nil,
            batteryAbove?.value.flatMap { $0 > 0 ? .batteryAbove(percent: $0) : nil },
            notLowPower?.value == true ? .notLowPower : nil,
            idle?.value == true ? .idle : nil,
            storageFreeBytes?.value.flatMap { $0 > 0 ? .storageFree(bytes: $0) : nil },
            pressureBelow?.value.map { .pressureBelow(percent: $0) },
        ]
        return wanted.compactMap(\.self)
    }
}
