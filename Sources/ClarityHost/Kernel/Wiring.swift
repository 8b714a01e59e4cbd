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
