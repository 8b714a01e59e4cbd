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
