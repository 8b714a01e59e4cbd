import ClarityHost
import HTTPServing
import Platform
@preconcurrency import Glibc

/// This machine's names and addresses in the local network.
struct LocalNames: Hashable {
    /// The most addresses: a machine with many containers may have one for each network of theirs.
    private static let mostAddresses = 8

    /// The name of the host, and the one that devices find by multicast DNS (RFC 6762).
    var hosts: [String]
    /// The private addresses; that of the default route first.
    var addresses: [LocalAddress]

    /// Each address and name, without the port.
    var all: [String] { addresses.map(\.text) + hosts }

    /// Returns the names and addresses that the system has now.
    static func current() throws(SystemError) -> LocalNames {
        let found = try privateAddresses()
        let main = addressOfDefaultRoute()
        let sorted = found.filter { $0 == main } + found.filter { $0 != main }
        return LocalNames(
            hosts: hosts(named: HostIdentity.name),
            addresses: Array(sorted.prefix(mostAddresses)))
    }

    /// Returns the names under which a host is known; none if its name is none of DNS.
    static func hosts(named name: String) -> [String] {
        let name = name.lowercased()
        let label = String(name.prefix { $0 != "." })
        let isName = name.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte)
                || "-._".utf8.contains(byte)
        }
        guard isName, !label.isEmpty, name.utf8.count <= 64, name != "localhost" else { return [] }
        return name == "\(label).local" ? [name] : [name, "\(label).local"]
    }

    private static func privateAddresses() throws(SystemError) -> [LocalAddress] {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { throw SystemError() }
        defer { freeifaddrs(list) }
        var found: [LocalAddress] = []
        var next = list
        while let interface = next?.pointee {
            next = interface.ifa_next
            let isRunning = UInt32(IFF_UP) | UInt32(IFF_RUNNING)
            guard interface.ifa_flags & isRunning == isRunning, let address = interface.ifa_addr,
                Int32(address.pointee.sa_family) == AF_INET
            else { continue }
            let host = UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in.self)
                .sin_addr.s_addr.bigEndian
            if let local = LocalAddress(host), !found.contains(local) { found.append(local) }
        }
        return found
    }

    /// Returns the address from which packets leave for other networks; `nil` without a default
    /// route. Nothing is sent: connect(2) of a datagram socket only chooses the address.
    private static func addressOfDefaultRoute() -> LocalAddress? {
        let descriptor = socket(
            AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        // 192.0.2.1 is nobody's (RFC 5737).
        name.sin_addr.s_addr = UInt32(0xC000_0201).bigEndian
        name.sin_port = UInt16(9).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isKnown = withUnsafeMutablePointer(to: &name) { name in
            name.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                connect(descriptor, name, size) == 0 && getsockname(descriptor, name, &size) == 0
            }
        }
        return isKnown ? LocalAddress(name.sin_addr.s_addr.bigEndian) : nil
    }
}

/// An IPv4 address that only a local network has: private (RFC 1918), or chosen by the machine itself
/// (RFC 3927).
struct LocalAddress: Hashable {
    /// In host byte order.
    let host: UInt32

    /// `nil` for any other address.
    init?(_ host: UInt32) {
        let isLocal =
            host >> 24 == 10 || host >> 20 == 0xAC1 || host >> 16 == 0xC0A8 || host >> 16 == 0xA9FE
        guard isLocal else { return nil }
        self.host = host
    }

    var text: String { ListenAddress(host: host, port: 0).hostText }
}
