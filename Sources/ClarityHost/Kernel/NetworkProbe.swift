import ClarityScheduler

/// Finds out from the kernel's links and routes whether this machine is connected, and over what.
struct NetworkProbe {
    /// What is known about one link.
    private struct Opinion {
        var isMetered: Bool?
        var isRoaming: Bool?
        /// `wlan0 is wireless`.
        var reason: String
        /// Whether a rule of the job file applies to the link.
        var isRuled = false
    }

    private let answer: DefaultRoutes.Answer
    private var opinions: [Opinion] = []

    /// Reads links and routes once.
    ///
    /// - Parameters:
    ///   - tree: The tree whose sysfs describes the links.
    ///   - routes: The source of links and routes.
    ///   - rules: The user's rules about the links.
    init(_ tree: HostTree, routes: RouteSource, rules: InterfaceRules = InterfaceRules()) {
        let table: RouteTable
        do throws(RouteSource.Fault) {
            table = try routes.table()
        } catch {
            answer = .unknown(error.reason)
            return
        }
        let defaults = DefaultRoutes(table)
        answer = defaults.answer
        let wiring = Wiring(tree: tree, links: table.links)
        opinions = defaults.decidingLinks { rules.rule(for: $0) != nil }.map { link in
            if let rule = rules.rule(for: link.name) {
                let reason = "`\(rule.pattern)` is \(rule.nature.rawValue) in `interfaces`"
                return Opinion(
                    isMetered: rule.nature != .unmetered, isRoaming: rule.nature == .roaming,
                    reason: "\(reason): \(link.name)", isRuled: true)
            }
            if let doubt = wiring.doubt(link) {
                return Opinion(reason: "\(doubt): name it in `interfaces`")
            }
            return Opinion(isMetered: false, isRoaming: false, reason: "\(link.name) is wired")
        }
    }

    /// Whether there is a default route over an interface that is up and has carrier.
    var connected: Conditions.Reading<Bool> {
        switch answer {
        case .open(let text): Conditions.Reading(true, source: "rtnetlink: \(text)")
        case .closed(let text): Conditions.Reading(false, source: "rtnetlink: \(text)")
        case .unknown(let text): .unknown("rtnetlink: \(text)")
        }
    }

    /// Whether the connection is paid for by the byte: the value of a rule, `false` over wired
    /// Ethernet, and otherwise unknown, because only a network manager can know.
    var metered: Conditions.Reading<Bool> { reading(\.isMetered) }

    /// Whether the connection uses a foreign mobile network: the value of a rule, `false` over
    /// wired Ethernet, and otherwise unknown.
    var roaming: Conditions.Reading<Bool> { reading(\.isRoaming) }

    /// Whether a rule covers every link of the connection.
    var isRuled: Bool { !opinions.isEmpty && opinions.allSatisfy(\.isRuled) }

    /// Returns the most cautious answer: true if any link is true, else unknown if any link is
    /// unknown, else false.
    private func reading(_ question: KeyPath<Opinion, Bool?>) -> Conditions.Reading<Bool> {
        guard !opinions.isEmpty else { return .unknown(connected.source) }
        if let yes = opinions.first(where: { $0[keyPath: question] == true }) {
            return Conditions.Reading(true, source: yes.reason)
        }
        if let doubt = opinions.first(where: { $0[keyPath: question] == nil }) {
            return .unknown(doubt.reason)
        }
        return Conditions.Reading(false, source: opinions.map(\.reason).joined(separator: ", "))
    }
}

/// Finds out which links are wired Ethernet, which is not paid for by the byte.
struct Wiring {
    let tree: HostTree
    let links: [Int32: RouteTable.Link]

    /// The drivers of USB chips that only adapters and boards use. A telephone that shares its
    /// connection uses CDC, RNDIS or a driver of its own. For the adapters that do so too, the
    /// answer stays unknown.
    private static let adapters: Set<String> = [
        "aqc111", "asix", "ax88179_178a", "dm9601", "lan78xx", "mcs7830", "pegasus", "r8152",
        "rtl8150", "smsc75xx", "smsc95xx", "sr9700", "sr9800",
    ]

    /// Returns why a link may be metered: `wlan0 is wireless`. Returns `nil` for an Ethernet card,
    /// for the virtual cables of containers, and for links made of these.
    func doubt(_ link: RouteTable.Link) -> String? { doubt(link, depth: 0) }

    private func doubt(_ link: RouteTable.Link, depth: Int) -> String? {
        let ethernet = 1
        guard link.hardware == ethernet else { return "\(link.name) is not Ethernet" }
        // No real setup is nested deeper, and a loop of links would never end.
        guard depth < 4 else { return "\(link.name) is no physical device" }
        switch link.kind {
        case nil: return doubtOfHardware(link.name)
        case "veth": return nil
        case "bridge", "bond", "team":
            // Ports of any other kind lead to containers and virtual machines on this machine.
            let ports = links.values.filter { $0.master == link.index && $0.kind == nil }
            return ports.sorted { $0.index < $1.index }.lazy
                .compactMap { doubt($0, depth: depth + 1) }.first
        case "vlan", "macvlan", "macvtap", "ipvlan":
            // The link below may be in another network namespace, as for a container's cable.
            guard let below = link.below.flatMap({ links[$0] }) else { return nil }
            return doubt(below, depth: depth + 1)
        default: return "\(link.name) is no physical device"
        }
    }

    private func doubtOfHardware(_ name: String) -> String? {
        let folder = "/sys/class/net/\(name)"
        guard tree.exists(folder) else { return "\(folder) is not shown" }
        if tree.exists("\(folder)/wireless") || tree.exists("\(folder)/phy80211") {
            return "\(name) is wireless"
        }
        guard tree.exists("\(folder)/device") else { return "\(name) is no physical device" }
        guard tree.linkName("\(folder)/device/subsystem") == "usb" else { return nil }
        let driver = tree.linkName("\(folder)/device/driver") ?? ""
        return Wiring.adapters.contains(driver) ? nil : "\(name) is on USB"
    }
}
