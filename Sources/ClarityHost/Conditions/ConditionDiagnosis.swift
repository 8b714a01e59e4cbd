public import ClarityScheduler

/// The conditions of a machine, with remedies for those that are not known well.
public struct ConditionDiagnosis: Sendable {
    public let conditions: Conditions
    /// Remedies, by the condition's name in a trace. A condition that is known as well as possible
    /// has none.
    public let remedies: [String: String]
    public let subscriptions: [ChangeSubscription]

    init(
        _ conditions: Conditions, services: ServiceAnswers, kernel: [ChangeSubscription]
    ) {
        self.conditions = conditions
        remedies = ConditionDiagnosis.remedies(conditions, services)
        subscriptions =
            kernel
            + [
                ChangeSubscription("NetworkManager", services.metered),
                ChangeSubscription("ModemManager", services.roaming),
                ChangeSubscription("UPower", services.onBattery),
                ChangeSubscription("power-profiles-daemon", services.lowPower),
                ChangeSubscription("logind", services.people),
            ]
    }

    private static func remedies(
        _ conditions: Conditions, _ services: ServiceAnswers
    ) -> [String: String] {
        var remedies: [String: String] = [:]
        if services.connectivity.value == nil, conditions.connected.value == true {
            remedies["connected"] =
                "only NetworkManager, or an address in `conditions: { probe: URL }`, tells a "
                + "captive portal"
        }
        if conditions.connected.value == true {
            switch (conditions.metered.value, services.metered.value) {
            case (nil, _):
                remedies["metered"] = network("NetworkManager", "unmetered")
            case (_, .guessYes), (_, .guessNo):
                remedies["metered"] =
                    "it is a guess until somebody sets `connection.metered` with nmcli(1)"
            default: break
            }
            if conditions.roaming.value == nil {
                remedies["roaming"] = network("ModemManager", "roaming")
            }
        }
        let power = "run UPower, or a driver that tells the `status` of the battery"
        if conditions.externalPower.value == nil { remedies["external_power"] = power }
        if conditions.battery.value == nil { remedies["battery"] = power }
        if conditions.idle.value == nil {
            remedies["idle"] =
                "run systemd-logind, or say from which load on the machine is busy: "
                + "`conditions: { idle: { load_below: 25% } }`"
        }
        if conditions.pressurePercent.value == nil {
            remedies["pressure_percent"] = "boot a kernel with CONFIG_PSI, and with `psi=1`"
        }
        return remedies
    }

    private static func network(_ service: String, _ nature: String) -> String {
        "run \(service), or say what the interface is: "
            + "`conditions: { interfaces: { wlan0: \(nature) } }`"
    }
}

extension ChangeSubscription {
    fileprivate init<Value>(_ subject: String, _ answer: ServiceAnswer<Value>) {
        self.init(subject: subject, fault: answer.reason.isEmpty ? nil : answer.reason)
    }
}
