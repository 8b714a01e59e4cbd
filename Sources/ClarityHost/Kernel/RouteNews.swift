/// Tells which of the announcements of rtnetlink(7) may change whether this machine is connected.
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

    /// The results of a scan and other news of Wi-Fi come as news of its link, with this attribute
    /// (IFLA_WIRELESS).
    private static let wireless: UInt16 = 11

    /// Whether an announcement matters; what cannot be read does.
    ///
    /// With the last IPv4 address of a link its routes go, and with a next hop of its own (`ip nexthop`)
    /// those over it, which are announced no other way; that an address is there, or is there longer,
    /// changes nothing.
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
