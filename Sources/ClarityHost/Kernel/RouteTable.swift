import CLinux
import Platform
import Glibc

/// The links of a machine, and its routes to everywhere or to a large part of it, as rtnetlink(7)
/// reports them.
struct RouteTable: Hashable, Sendable {
    /// A network interface.
    struct Link: Hashable, Sendable {
        var index: Int32
        var name: String
        /// The ARP hardware type; 1 is Ethernet (linux/if_arp.h).
        var hardware: UInt16
        /// `IFF_UP` and other flags (netdevice(7)).
        var flags: UInt32
        /// The operational state of RFC 2863; 0 is unknown and 6 is up.
        var operation: UInt8 = 0
        /// `nil` if the kernel reports the carrier only in the flags.
        var hasCarrier: Bool?
        /// The type of a virtual device, such as `wireguard` or `bridge`; `nil` for hardware.
        var kind: String?
        /// The interface below this one, as for a VLAN; `nil` if there is none in this network
        /// namespace.
        var below: Int32?
        /// The bridge or bond that this link is a part of.
        var master: Int32?
    }

    enum Family: UInt8, Sendable {
        case ipv4 = 2
        case ipv6 = 10
    }

    /// A route to everywhere, or to a large part of it.
    struct Route: Hashable, Sendable {
        var family: Family
        /// The first byte of the destination address. `length` says how many of its bits count, 0
        /// to 4.
        var first: UInt8 = 0
        var length: UInt8 = 0
        var table: UInt32
        /// The route with the lowest metric is preferred.
        var metric: UInt32
        var end: End
    }

    /// Where a route leads.
    enum End: Hashable, Sendable {
        /// Over one of these interfaces.
        case interfaces([Int32])
        /// Over a next hop object (`ip nexthop`), whose interface the kernel does not report.
        case nextHop(UInt32)
        /// Nowhere, with the reason: `a blackhole`.
        case refusal(String)
        /// To the next routing rule.
        case nextRule
    }

    /// The links by index.
    var links: [Int32: Link] = [:]
    /// The routes in the order in which the kernel reports them, without the local table.
    var routes: [Route] = []
    /// The interfaces over which some route leads to a gateway.
    var gatewayed: Set<Int32> = []
}

// MARK: Reading

extension RouteTable {
    /// The main routing table.
    static let main: UInt32 = 254
    private static let local: UInt32 = 255
    private static let newLink: UInt16 = 16
    private static let newRoute: UInt16 = 24

    /// Parses the kernel's answers to RTM_GETLINK and RTM_GETROUTE, each with its NLMSG_DONE.
    init(links: [UInt8], routes: [UInt8]) throws(NetlinkMessage.Fault) {
        for payload in try NetlinkDump.payloads(of: RouteTable.newLink, in: links) {
            let link = try Link(payload)
            self.links[link.index] = link
        }
        for payload in try NetlinkDump.payloads(of: RouteTable.newRoute, in: routes) {
            try readRoute(payload)
        }
    }

    private mutating func readRoute(_ payload: ArraySlice<UInt8>) throws(NetlinkMessage.Fault) {
        let headerSize = 12
        guard payload.count >= headerSize, let family = payload.number(at: 0, as: UInt8.self),
            let length = payload.number(at: 1, as: UInt8.self),
            let service = payload.number(at: 3, as: UInt8.self),
            let tableByte = payload.number(at: 4, as: UInt8.self),
            let type = payload.number(at: 7, as: UInt8.self),
            let flags = payload.number(at: 8, as: UInt32.self)
        else { throw .malformed("a route of \(payload.count) bytes") }
        let (isCloned, isDead): (UInt32, UInt32) = (0x200, 0x1)
        // Other families are for multicast routing. A route for one type of service is not for all
        // traffic.
        guard let family = Family(rawValue: family), flags & isCloned == 0, service == 0 else {
            return
        }
        let attributes = try NetlinkAttribute.all(in: payload.dropFirst(headerSize))
        var table = UInt32(tableByte)
        var metric: UInt32 = 0
        var first: UInt8 = 0
        var hops: [Hop] = []
        var single = Hop(interface: 0, isGatewayed: false, isDead: flags & isDead != 0)
        var nextHop: UInt32?
        for attribute in attributes {
            switch attribute.type {
            case 1: first = attribute.value.first ?? 0  // RTA_DST
            case 4: single.interface = try attribute.number(as: Int32.self)  // RTA_OIF
            case 5, 18: single.isGatewayed = true  // RTA_GATEWAY, RTA_VIA
            case 6: metric = try attribute.number(as: UInt32.self)  // RTA_PRIORITY
            case 9: hops = try Hop.all(in: attribute.value)  // RTA_MULTIPATH
            case 15: table = try attribute.number(as: UInt32.self)  // RTA_TABLE
            case 30: nextHop = try attribute.number(as: UInt32.self)  // RTA_NH_ID
            default: break
            }
        }
        guard table != RouteTable.local else { return }
        if single.interface != 0 { hops.append(single) }
        let unicast = 1
        if type == unicast {
            for hop in hops where hop.isGatewayed { gatewayed.insert(hop.interface) }
        }
        guard length <= 4 else { return }
        let end: End
        switch type {
        case 1 where hops.isEmpty && nextHop != nil: end = .nextHop(nextHop ?? 0)
        case 1: end = .interfaces(hops.filter { !$0.isDead }.map(\.interface))
        case 6: end = .refusal("a blackhole")
        case 7: end = .refusal("unreachable")
        case 8: end = .refusal("prohibited")
        case 9: end = .nextRule
        default: return
        }
        routes.append(
            Route(
                family: family, first: first, length: length, table: table, metric: metric, end: end
            ))
    }

    /// A next hop of a route.
    private struct Hop {
        var interface: Int32
        var isGatewayed: Bool
        var isDead: Bool

        /// Parses the next hops of a multipath route, consecutive `struct rtnexthop`.
        static func all(in bytes: ArraySlice<UInt8>) throws(NetlinkMessage.Fault) -> [Hop] {
            var hops: [Hop] = []
            let headerSize = 8
            try bytes.eachRecord(withHeaderOf: headerSize, "a next hop") {
                record throws(NetlinkMessage.Fault) in
                let attributes = try NetlinkAttribute.all(in: record.dropFirst(headerSize))
                hops.append(
                    Hop(
                        interface: record.number(at: 4, as: Int32.self) ?? 0,
                        isGatewayed: attributes.contains { $0.type == 5 || $0.type == 18 },
                        isDead: (record.number(at: 2, as: UInt8.self) ?? 0) & 1 != 0))
            }
            return hops
        }
    }
}

extension RouteTable.Link {
    /// Parses `struct ifinfomsg` and its attributes.
    fileprivate init(_ payload: ArraySlice<UInt8>) throws(NetlinkMessage.Fault) {
        let headerSize = 16
        guard payload.count >= headerSize, let hardware = payload.number(at: 2, as: UInt16.self),
            let index = payload.number(at: 4, as: Int32.self),
            let flags = payload.number(at: 8, as: UInt32.self)
        else { throw .malformed("a link of \(payload.count) bytes") }
        self.init(index: index, name: "", hardware: hardware, flags: flags)
        var isElsewhere = false
        for attribute in try NetlinkAttribute.all(in: payload.dropFirst(headerSize)) {
            switch attribute.type {
            case 3: name = attribute.text  // IFLA_IFNAME
            case 5: below = try attribute.number(as: Int32.self)  // IFLA_LINK
            case 10: master = try attribute.number(as: Int32.self)  // IFLA_MASTER
            case 16: operation = try attribute.number(as: UInt8.self)  // IFLA_OPERSTATE
            case 18:  // IFLA_LINKINFO; its attribute 1 is IFLA_INFO_KIND
                kind = try NetlinkAttribute.all(in: attribute.value).first { $0.type == 1 }?.text
            case 33: hasCarrier = try attribute.number(as: UInt8.self) != 0  // IFLA_CARRIER
            case 37: isElsewhere = true  // IFLA_LINK_NETNSID
            default: break
            }
        }
        if isElsewhere || below == 0 || below == index { below = nil }
        // The name becomes part of a path. The kernel allows no such name either (dev_valid_name).
        guard !name.isEmpty, name != ".", name != "..", !name.contains("/") else {
            throw .malformed("a link without a name")
        }
    }
}

/// Decides which announcements of rtnetlink(7) may change whether this machine is connected.
enum RouteNews {
    private enum Kind: UInt16 {
        case newLink = 16
        case deletedLink = 17
        case deletedAddress = 21
        case newRoute = 24
        case deletedRoute = 25
        case newRule = 32
        case deletedRule = 33
        case newNextHop = 104
        case deletedNextHop = 105
    }

    /// The attribute of link announcements that carry Wi-Fi events, such as the results of a scan
    /// (IFLA_WIRELESS).
    private static let wireless: UInt16 = 11

    /// Returns whether an announcement may matter; true if it cannot be parsed.
    ///
    /// The routes of a link disappear with its last IPv4 address, and the routes over a next hop
    /// object (`ip nexthop`) disappear with it. The kernel announces these removals in no other
    /// way. A new or renewed address changes nothing.
    static func matters(_ announcement: ArraySlice<UInt8>) -> Bool {
        do throws(NetlinkMessage.Fault) {
            for message in try NetlinkMessage.all(in: announcement) {
                guard let kind = Kind(rawValue: message.type) else { continue }
                if kind == .newLink, try isWireless(message) { continue }
                return true
            }
            return false
        } catch {
            return true
        }
    }

    private static func isWireless(
        _ message: NetlinkMessage
    ) throws(NetlinkMessage.Fault) -> Bool {
        let headerSize = 16
        return try NetlinkAttribute.all(in: message.payload.dropFirst(headerSize)).contains {
            $0.type == wireless
        }
    }
}

/// A source of a machine's links and routes.
struct RouteSource: Sendable {
    /// Why they cannot be read: `Permission denied`.
    struct Fault: Error, Hashable, Sendable {
        var reason: String
        /// Whether links or routes changed while they were read, so that a retry may succeed.
        var isPassing = false

        init(reason: String) { self.reason = reason }

        init(_ fault: NetlinkMessage.Fault) {
            self.init(reason: fault.text)
            isPassing = fault == .interrupted
        }
    }

    /// Returns the current links and routes.
    let table: @Sendable () throws(Fault) -> RouteTable

    /// This machine, or the network namespace of the calling thread. The kernel answers at once.
    static let live = RouteSource(table: RouteQuestion.table)

    /// Returns what the kernel's answers to RTM_GETLINK and RTM_GETROUTE say.
    static func decoded(_ links: [UInt8], _ routes: [UInt8]) throws(Fault) -> RouteTable {
        do throws(NetlinkMessage.Fault) {
            return try RouteTable(links: links, routes: routes)
        } catch {
            throw Fault(error)
        }
    }
}

extension NetlinkMessage.Fault {
    /// The fault as text for the user.
    var text: String {
        switch self {
        case .refused(let code): SystemError(code: code).text
        case .interrupted: "links and routes changed while they were read"
        case .cutShort: "an answer without its end"
        case .malformed(let what): "not an answer of the kernel: \(what)"
        }
    }
}

/// Asks the kernel for its links and routes.
private enum RouteQuestion {
    private static let getLink: Int32 = 18
    private static let getRoute: Int32 = 26
    /// The most bytes read of one answer, enough for some 10,000 links or 200,000 routes.
    private static let largest = 16 << 20
    /// How often links and routes are read before giving up, if they change meanwhile.
    private static let attempts = 3

    @Sendable static func table() throws(RouteSource.Fault) -> RouteTable {
        // The kernel answers at once. The limit of 1 s is for systems that only emulate one.
        let socket = clinux_ask_routes(1000)
        guard socket >= 0 else { throw systemFault(errno) }
        defer { close(socket) }
        var attempt: UInt32 = 1
        while true {
            let links = try answer(to: getLink, attempt * 2, socket)
            let routes = try answer(to: getRoute, attempt * 2 + 1, socket)
            do throws(RouteSource.Fault) {
                return try RouteSource.decoded(links, routes)
            } catch {
                guard error.isPassing, attempt < attempts else { throw error }
                attempt += 1
            }
        }
    }

    /// Returns all datagrams of the answer, concatenated.
    private static func answer(
        to request: Int32, _ sequence: UInt32, _ socket: Int32
    ) throws(RouteSource.Fault) -> [UInt8] {
        guard clinux_request_dump(socket, request, sequence) == 0 else { throw systemFault(errno) }
        var answer: [UInt8] = []
        // The kernel sends at most 32 KiB in a datagram.
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            var sender: UInt32 = 0
            let count = clinux_receive(socket, &buffer, UInt(buffer.count), &sender)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw errno == EAGAIN
                    ? RouteSource.Fault(reason: "no answer within 1s") : systemFault(errno)
            }
            let datagram = buffer[..<count]
            // The datagram is from another sender, or belongs to an earlier answer that was given
            // up.
            guard sender == 0, datagram.number(at: 8, as: UInt32.self) == sequence else { continue }
            answer += datagram
            if NetlinkDump.ends(datagram) { return answer }
            guard answer.count <= largest else {
                throw RouteSource.Fault(reason: "more than \(largest) bytes of links or routes")
            }
        }
    }

    private static func systemFault(_ code: Int32) -> RouteSource.Fault {
        RouteSource.Fault(reason: SystemError(code: code).text)
    }
}
