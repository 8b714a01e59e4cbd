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

/// The default routes of this machine, and whether one of them works.
///
/// A default route counts in any table except the local one, because VPNs put theirs into tables of
/// their own that routing rules select. A set of routes that together cover everything counts as
/// well: the two halves that wg-quick(8) and OpenVPN's `redirect-gateway def1` create, and in IPv6
/// the routes to the global unicast addresses, 2000::/3.
struct DefaultRoutes {
    /// Routes of one table that together lead everywhere; usually a single route.
    private struct Way {
        var lane: Lane
        var parts: [RouteTable.Route]

        var metric: UInt32 { parts.map(\.metric).max() ?? 0 }
    }

    /// Whether a default route works.
    enum Answer: Hashable {
        /// A default route works, over this link and in this table.
        case open(String)
        /// No default route works, with the reason.
        case closed(String)
        /// It is unknown whether one works, with the reason.
        case unknown(String)
    }

    private let table: RouteTable
    /// The main table first, IPv4 before IPv6, the lowest metric first.
    private var ways: [Way] = []
    private var refusals: [String] = []

    init(_ table: RouteTable) {
        self.table = table
        let lanes = Dictionary(grouping: table.routes) { Lane(table: $0.table, family: $0.family) }
        for (lane, routes) in lanes.sorted(by: { $0.key < $1.key }) { add(lane, routes) }
    }

    // MARK: Answers

    var answer: Answer {
        for way in ways {
            if let link = links(of: way).first {
                return .open(
                    "default route over \(link.name) in table \(Self.name(way.lane.table))")
            }
        }
        var faults: [String] = []
        for way in ways {
            for part in way.parts {
                switch part.end {
                case .nextHop(let id):
                    return .unknown(
                        "default route over next hop \(id), whose interface is not told")
                case .interfaces(let indices):
                    faults += indices.compactMap { index in
                        guard let link = table.links[index] else { return nil }
                        return fault(of: link).map { "default route over \(link.name), \($0)" }
                    }
                case .refusal, .nextRule: break
                }
            }
        }
        return .closed(faults.first ?? refusals.first ?? "no default route")
    }

    /// Returns the links that decide what the connection costs; empty without a working default
    /// route.
    ///
    /// Within a table and family, only the working routes of the lowest metric are used. Across
    /// tables and families, any may be used. A tunnel costs what the link below it costs, unless
    /// `isNamed` returns true for the tunnel: then a rule of the job file decides.
    func decidingLinks(isNamed: (String) -> Bool) -> [RouteTable.Link] {
        var deciding: [RouteTable.Link] = []
        for link in preferred(ways.map { links(of: $0) }) {
            if link.isTunnel, !isNamed(link.name) {
                deciding += carriers
            } else {
                deciding.append(link)
            }
        }
        var seen: Set<Int32> = []
        return deciding.filter { seen.insert($0.index).inserted }
    }

    // MARK: Ways

    private struct Lane: Hashable, Comparable {
        var table: UInt32
        var family: RouteTable.Family

        static func < (one: Lane, other: Lane) -> Bool {
            if one.table != other.table {
                return one.table == RouteTable.main
                    || other.table != RouteTable.main && one.table < other.table
            }
            return one.family.rawValue < other.family.rawValue
        }
    }

    /// Sets of prefixes that together cover everything. A prefix is a first byte and a length.
    private static let splits: [RouteTable.Family: [[(first: UInt8, length: UInt8)]]] = [
        .ipv4: [[(0x00, 1), (0x80, 1)]],
        .ipv6: [[(0x00, 1), (0x80, 1)], [(0x20, 3)], [(0x20, 4), (0x30, 4)]],
    ]

    private mutating func add(_ lane: Lane, _ routes: [RouteTable.Route]) {
        let routes = routes.sorted { $0.metric < $1.metric }
        // A more specific route wins over a default route, whatever its metric.
        for split in DefaultRoutes.splits[lane.family] ?? [] {
            let parts = split.compactMap { prefix in
                routes.first { $0.first == prefix.first && $0.length == prefix.length }
            }
            guard parts.count == split.count else { continue }
            if parts.allSatisfy(\.end.isRefusal) { return refuse(parts[0]) }
            ways.append(Way(lane: lane, parts: parts))
        }
        for route in routes where route.length == 0 {
            switch route.end {
            case .interfaces, .nextHop: ways.append(Way(lane: lane, parts: [route]))
            // Routes after this one are never reached.
            case .refusal: return refuse(route)
            case .nextRule: return
            }
        }
    }

    private mutating func refuse(_ route: RouteTable.Route) {
        // The kernel adds this route itself, as the last entry of each IPv6 table.
        guard case .refusal(let word) = route.end, route.metric != .max else { return }
        refusals.append("the default route in table \(Self.name(route.table)) is \(word)")
    }

    // MARK: Links

    /// Returns the working links of a way; empty if one of its parts has none.
    private func links(of way: Way) -> [RouteTable.Link] {
        var links: [RouteTable.Link] = []
        for part in way.parts {
            guard case .interfaces(let indices) = part.end else { return [] }
            let working = indices.compactMap { table.links[$0] }.filter { link in
                !link.isLoopback && fault(of: link) == nil
            }
            if working.isEmpty { return [] }
            links += working
        }
        return links
    }

    /// Returns why a link cannot send traffic out; `nil` if it works.
    private func fault(of link: RouteTable.Link) -> String? {
        if link.isLoopback { return nil }
        if let fault = link.fault { return fault }
        return link.isTunnel && grounds.isEmpty
            ? "which is a tunnel, and nothing that works is below it" : nil
    }

    /// The links that may carry a tunnel: hardware, and any link that leads to a gateway. Virtual
    /// cables of containers on this machine do neither.
    private var grounds: [RouteTable.Link] {
        table.links.values.sorted { $0.index < $1.index }.filter { link in
            !link.isLoopback && !link.isTunnel && link.fault == nil
                && (link.kind == nil || table.gatewayed.contains(link.index))
        }
    }

    /// The links that carry the tunnels: the links of the default routes that are not tunnels, or
    /// else all links that may carry one.
    private var carriers: [RouteTable.Link] {
        let plain = preferred(ways.map { links(of: $0).filter { !$0.isTunnel } })
        return plain.isEmpty ? grounds : plain
    }

    /// Returns the links of the ways with the lowest metric of their table and family. `links`
    /// holds the links of each way; ways without any are left out.
    private func preferred(_ links: [[RouteTable.Link]]) -> [RouteTable.Link] {
        let open = zip(ways, links).filter { !$0.1.isEmpty }
        return open.filter { way, _ in
            !open.contains { $0.0.lane == way.lane && $0.0.metric < way.metric }
        }.flatMap(\.1)
    }

    private static func name(_ table: UInt32) -> String {
        switch table {
        case RouteTable.main: "main"
        case 253: "default"
        default: "\(table)"
        }
    }
}

extension RouteTable.End {
    fileprivate var isRefusal: Bool {
        if case .refusal = self { true } else { false }
    }
}

extension RouteTable.Link {
    fileprivate var isLoopback: Bool { flags & 0x8 != 0 }

    /// Whether the link's traffic leaves over another link.
    fileprivate var isTunnel: Bool {
        [
            "wireguard", "tun", "ipip", "ip6tnl", "sit", "gre", "gretap", "ip6gre", "ip6gretap",
            "erspan", "ip6erspan", "vti", "vti6", "xfrm", "vxlan", "geneve", "ovpn", "l2tp",
        ].contains(kind)
    }

    /// Why the link itself does not work; `nil` if it does.
    fileprivate var fault: String? {
        let (isUp, isLowerUp): (UInt32, UInt32) = (0x1, 0x1_0000)
        if flags & isUp == 0 { return "which is down" }
        if hasCarrier == false || flags & isLowerUp == 0 { return "which has no carrier" }
        switch operation {
        case 0, 6: return nil
        case 1, 2, 3: return "which has no carrier"
        // The link waits for 802.1X or for Wi-Fi authentication, or is under test.
        default: return "which is not ready"
        }
    }
}
