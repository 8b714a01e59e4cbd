import ClarityScheduler

/// Tells from the kernel's routes whether this machine is connected, and over what.
///
/// Only the main routing table is seen, as `/proc/net/route` shows no other.
struct NetworkProbe {
    /// A route to everywhere.
    private struct DefaultRoute {
        var interface: String
        var path: String
    }

    private let tree: HostTree
    private var routes: [DefaultRoute] = []
    private var faults: [HostTree.Fault] = []

    init(_ tree: HostTree) {
        self.tree = tree
        read("/proc/net/route", NetworkProbe.defaultInterfacesIPv4)
        read("/proc/net/ipv6_route", NetworkProbe.defaultInterfacesIPv6)
    }

    /// Whether a default route exists over an interface that is not known to be down.
    var connected: Conditions.Reading<Bool> {
        if let route = routes.first {
            return Conditions.Reading(true, source: "\(route.path): \(route.interface)")
        }
        if let fault = faults.first { return .unknown(fault.text) }
        return Conditions.Reading(false, source: "/proc/net/route and /proc/net/ipv6_route")
    }

    /// `false` over Ethernet alone; otherwise unknown, for only a network manager is told by
    /// people what is metered.
    var metered: Conditions.Reading<Bool> {
        guard !routes.isEmpty else { return .unknown("no default route") }
        var names: [String] = []
        for route in routes where !names.contains(route.interface) { names.append(route.interface) }
        for name in names {
            if let doubt = doubtThatWired(name) {
                return .unknown("\(doubt), and no network manager is asked")
            }
        }
        return Conditions.Reading(false, source: "wired: \(names.joined(separator: ", "))")
    }

    private mutating func read(_ path: String, _ parse: (String) -> [String]?) {
        do throws(HostTree.Fault) {
            guard let text = try tree.textIfPresent(path) else { return }
            guard let interfaces = parse(text) else {
                throw HostTree.Fault(path: path, reason: "not a table of routes")
            }
            for interface in interfaces where !isDown(interface) {
                routes.append(DefaultRoute(interface: interface, path: path))
            }
        } catch {
            faults.append(error)
        }
    }

    /// Whether the interface says so itself: a fixed route stays when the cable is pulled.
    private func isDown(_ interface: String) -> Bool {
        do {
            let state = try tree.text("/sys/class/net/\(interface)/operstate")
            return state == "down" || state == "lowerlayerdown" || state == "notpresent"
        } catch {
            // A tree without sysfs, as in some containers: the route alone must do.
            return false
        }
    }

    /// Why an interface may be metered; `nil` for Ethernet on a card, and for the virtual cables
    /// of containers.
    private func doubtThatWired(_ interface: String) -> String? {
        let folder = "/sys/class/net/\(interface)"
        let type: Int64?
        do throws(HostTree.Fault) {
            type = try tree.countIfPresent("\(folder)/type")
        } catch {
            return error.text
        }
        let ethernet: Int64 = 1
        guard type == ethernet else { return "\(interface) is not Ethernet" }
        if tree.exists("\(folder)/wireless") || tree.exists("\(folder)/phy80211") {
            return "\(interface) is wireless"
        }
        if tree.exists("\(folder)/bridge") { return nil }
        if tree.exists("\(folder)/device") {
            // A telephone that shares its connection looks like an Ethernet card on USB.
            return tree.linkName("\(folder)/device/subsystem") == "usb"
                ? "\(interface) is on USB" : nil
        }
        // One end of a virtual cable names its other end; a device of its own names itself.
        do throws(HostTree.Fault) {
            let index = try tree.countIfPresent("\(folder)/ifindex")
            let link = try tree.countIfPresent("\(folder)/iflink")
            return index != link ? nil : "\(interface) is no physical device"
        } catch {
            return error.text
        }
    }

    private static let isUp: UInt32 = 0x1
    private static let isReject: UInt32 = 0x200

    private static func leadsOut(_ flags: UInt32, _ interface: Substring) -> Bool {
        flags & isUp != 0 && flags & isReject == 0 && interface != "lo"
    }

    /// The interfaces of the default routes in `/proc/net/route`; `nil` for anything else.
    static func defaultInterfacesIPv4(_ table: String) -> [String]? {
        let lines = table.split(separator: "\n")
        guard let header = lines.first, header.hasPrefix("Iface") else { return nil }
        var interfaces: [String] = []
        for line in lines.dropFirst() {
            let fields = line.split { $0 == "\t" || $0 == " " }
            guard fields.count >= 8, let destination = UInt32(fields[1], radix: 16),
                let flags = UInt32(fields[3], radix: 16), let mask = UInt32(fields[7], radix: 16)
            else { return nil }
            if destination == 0, mask == 0, leadsOut(flags, fields[0]) {
                interfaces.append(String(fields[0]))
            }
        }
        return interfaces
    }

    /// The interfaces of the default routes in `/proc/net/ipv6_route`; `nil` for anything else.
    static func defaultInterfacesIPv6(_ table: String) -> [String]? {
        var interfaces: [String] = []
        for line in table.split(separator: "\n") {
            let fields = line.split { $0 == "\t" || $0 == " " }
            guard fields.count == 10, fields[0].utf8.count == 32,
                fields[0].allSatisfy(\.isHexDigit), let prefix = UInt8(fields[1], radix: 16),
                let flags = UInt32(fields[8], radix: 16)
            else { return nil }
            let isEverywhere = prefix == 0 && fields[0].allSatisfy { $0 == "0" }
            if isEverywhere, leadsOut(flags, fields[9]) { interfaces.append(String(fields[9])) }
        }
        return interfaces
    }
}
