import ClarityScheduler

/// What the kernel shows of the machine's conditions, by itself.
struct KernelAnswers: Sendable {
    var connected: Conditions.Reading<Bool>
    var metered: Conditions.Reading<Bool>
    var roaming: Conditions.Reading<Bool>
    /// Whether a rule of the job file says what the connection is.
    var isConnectionRuled: Bool
    var externalPower: Conditions.Reading<Bool>
    var battery: Conditions.Reading<Conditions.Battery>
    /// `nil` where no firmware offers a way to save power.
    var lowPower: Conditions.Reading<Bool>?
    var pressurePercent: Conditions.Reading<Int>
}

extension KernelAnswers {
    init(_ tree: HostTree, routes: RouteSource, rules: InterfaceRules) {
        let network = NetworkProbe(tree, routes: routes, rules: rules)
        let power = PowerProbe(tree)
        self.init(
            connected: network.connected, metered: network.metered, roaming: network.roaming,
            isConnectionRuled: network.isRuled, externalPower: power.externalPower,
            battery: power.battery, lowPower: PowerProfileProbe(tree: tree).lowPower,
            pressurePercent: PressureProbe(tree: tree).pressurePercent)
    }
}
