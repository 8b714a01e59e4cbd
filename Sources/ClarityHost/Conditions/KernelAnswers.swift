import ClarityScheduler

/// What the kernel alone knows about the machine's conditions.
struct KernelAnswers: Sendable {
    var connected: Conditions.Reading<Bool>
    var metered: Conditions.Reading<Bool>
    var roaming: Conditions.Reading<Bool>
    /// Whether a rule of the job file covers every link of the connection.
    var isConnectionRuled: Bool
    var externalPower: Conditions.Reading<Bool>
    var battery: Conditions.Reading<Conditions.Battery>
    /// `nil` if the firmware has no power profiles.
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
