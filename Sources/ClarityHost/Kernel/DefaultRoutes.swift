/// The ways on which this machine reaches everywhere, and whether one of them works.
///
/// A default route counts in any table but the local one, since VPNs put theirs into tables of their
/// own that routing rules lead to. So does a set of routes that covers everything together: two halves,
/// as wg-quick(8) and OpenVPN's `redirect-gateway def1` make them, and in IPv6 those to the global
/// unicast addresses, 2000::/3.
struct DefaultRoutes {
    /// Routes of one table that together lead everywhere; a single one as a rule.
    struct Way: Hashable {
        var table: UInt32
        var family: RouteTable.Family
        var metric: UInt32
        var parts: [RouteTable.Route]
    }

    /// Whether there is a way out.
    enum Answer: Hashable {
        /// Over this link, by a route of this table.
        case open(String)
        /// What is missing.
        case closed(String)
        /// What cannot be told.
        case unknown(String)
    }

    private let table: RouteTable
    /// The main table's first, IPv4 before IPv6, the lowest metric first.
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
                return .open("default route over \(link.name) in table \(Self.name(way.table))")
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

    /// The links that decide what the connection costs; empty without one.
    ///
    /// Of the working ways of one table and family those of the lowest metric are used, of several
    /// tables and families any. A tunnel costs what carries it, unless `isNamed` says that a rule speaks
    /// of it.
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

    fileprivate struct Lane: Hashable, Comparable {
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

    /// Prefixes, each a first byte and a length, that cover everything together.
    private static let splits: [RouteTable.Family: [[(first: UInt8, length: UInt8)]]] = [
        .ipv4: [[(0x00, 1), (0x80, 1)]],
        .ipv6: [[(0x00, 1), (0x80, 1)], [(0x20, 3)], [(0x20, 4), (0x30, 4)]],
    ]

    private mutating func add(_ lane: Lane, _ routes: [RouteTable.Route]) {
        let routes = routes.sorted { $0.metric < $1.metric }
        // The more specific route wins, whatever its metric.
        for split in DefaultRoutes.splits[lane.family] ?? [] {
            let parts = split.compactMap { prefix in
                routes.first { $0.first == prefix.first && $0.length == prefix.length }
            }
            guard parts.count == split.count else { continue }
            if parts.allSatisfy(\.end.isRefusal) { return refuse(parts[0]) }
            ways.append(Way(lane, parts))
        }
        for route in routes where route.length == 0 {
            switch route.end {
            case .interfaces, .nextHop: ways.append(Way(lane, [route]))
            // What stands behind it is never reached.
            case .refusal: return refuse(route)
            case .nextRule: return
            }
        }
    }

    private mutating func refuse(_ route: RouteTable.Route) {
        // The kernel's own last entry of each IPv6 table is no decision of anybody.
        guard case .refusal(let word) = route.end, route.metric != .max else { return }
        refusals.append("the default route in table \(Self.name(route.table)) is \(word)")
    }

    // MARK: Links

    /// The working links of a way; empty when one of its parts has none.
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

    /// Why nothing goes out over a link; `nil` when it works.
    private func fault(of link: RouteTable.Link) -> String? {
        if link.isLoopback { return nil }
        if let fault = link.fault { return fault }
        return link.isTunnel && grounds.isEmpty
            ? "which is a tunnel, and nothing that works is below it" : nil
    }

    /// The links that may carry a tunnel: hardware, or whatever leads to a gateway, so that the cables
    /// of containers on this machine are none.
    private var grounds: [RouteTable.Link] {
        table.links.values.sorted { $0.index < $1.index }.filter { link in
            !link.isLoopback && !link.isTunnel && link.fault == nil
                && (link.kind == nil || table.gatewayed.contains(link.index))
        }
    }

    /// The links that carry the tunnels: those of the default routes that are none, else all that may.
    private var carriers: [RouteTable.Link] {
        let plain = preferred(ways.map { links(of: $0).filter { !$0.isTunnel } })
        return plain.isEmpty ? grounds : plain
    }

    /// The links of the ways that have any and are the cheapest of their table and family.
    private func preferred(_ links: [[RouteTable.Link]]) -> [RouteTable.Link] {
        let open = zip(ways, links).filter { !$0.1.isEmpty }
        return open.filter { way, _ in
            !open.contains {
                $0.0.table == way.table && $0.0.family == way.family && $0.0.metric < way.metric
            }
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

extension DefaultRoutes.Way {
    fileprivate init(_ lane: DefaultRoutes.Lane, _ parts: [RouteTable.Route]) {
        self.init(
            table: lane.table, family: lane.family, metric: parts.map(\.metric).max() ?? 0,
            parts: parts)
    }
}

extension RouteTable.End {
    fileprivate var isRefusal: Bool {
        if case .refusal = self { true } else { false }
    }
}

extension RouteTable.Link {
    fileprivate var isLoopback: Bool { flags & 0x8 != 0 }

    /// Whether what it sends goes out over another link in the end.
    fileprivate var isTunnel: Bool {
        [
            "wireguard", "tun", "ipip", "ip6tnl", "sit", "gre", "gretap", "ip6gre", "ip6gretap",
            "erspan", "ip6erspan", "vti", "vti6", "xfrm", "vxlan", "geneve", "ovpn", "l2tp",
        ].contains(kind)
    }

    /// Why it does not work, in itself.
    fileprivate var fault: String? {
        let (isUp, isLowerUp): (UInt32, UInt32) = (0x1, 0x1_0000)
        if flags & isUp == 0 { return "which is down" }
        if hasCarrier == false || flags & isLowerUp == 0 { return "which has no carrier" }
        switch operation {
        case 0, 6: return nil
        case 1, 2, 3: return "which has no carrier"
        // 802.1X, or Wi-Fi that is not let in yet; or a test.
        default: return "which is not ready"
        }
    }
}
