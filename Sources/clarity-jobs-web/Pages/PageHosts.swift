import HTTPServing
import Platform
@preconcurrency import Glibc

/// The names under which browsers may ask for the pages.
///
/// A web site can make its own name point to this machine, and its scripts could then read the
/// answers as their own (DNS rebinding). The browser still sends that name, so it is refused.
struct PageHosts {
    /// Each name with its port, as in a `Host` header.
    private let names: Set<String>
    /// The port for addresses of IPv4, which no web site can have as its name; `nil` on loopback.
    private let addressPort: UInt16?
    private let scheme: String
    /// The origin behind a proxy.
    private let outer: String?

    /// - Parameter outer: the origin under which a proxy serves the pages, such as
    ///   `https://health.example`.
    init(_ address: ListenAddress, isEncrypted: Bool, outer: String?) {
        let usual: UInt16 = isEncrypted ? 443 : 80
        scheme = isEncrypted ? "https" : "http"
        var bare = ["localhost", "127.0.0.1", "[::1]"]
        if !address.isLoopback {
            var name = [CChar](repeating: 0, count: 256)
            if gethostname(&name, name.count - 1) == 0 {
                let own = String(
                    decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) },
                    as: UTF8.self
                ).lowercased()
                bare += [own, "\(own).local"]
            }
        }
        var names = Set(bare.map { "\($0):\(address.port)" })
        if address.port == usual { names.formUnion(bare) }
        if let outer { names.insert(String(outer.dropFirst("https://".count))) }
        self.names = names
        self.outer = outer
        addressPort = address.isLoopback ? nil : address.port
    }

    /// Whether requests for this host are answered.
    func accepts(host: String?) -> Bool {
        guard let host = host?.lowercased() else { return false }
        if names.contains(host) { return true }
        guard let addressPort, let address = ListenAddress(host) else { return false }
        return address.port == addressPort && host == "\(address.hostText):\(address.port)"
    }

    /// Whether a page of this origin may make the request that has `host`.
    func accepts(origin: String, host: String) -> Bool {
        let origin = origin.lowercased()
        return origin == outer || origin == "\(scheme)://\(host.lowercased())"
    }

    /// Returns the origin that `--behind` names; `nil` unless it is `https://NAME[:PORT]`.
    static func outer(_ text: String) -> String? {
        let text = text.lowercased()
        guard text.hasPrefix("https://") else { return nil }
        var name = text.dropFirst("https://".count)
        if name.hasSuffix("/") { name = name.dropLast() }
        let parts = name.split(separator: ":", omittingEmptySubsequences: false)
        let isName = parts[0].utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x61...0x7A: true
            default: "-.".utf8.contains(byte)
            }
        }
        guard isName, !parts[0].isEmpty, parts.count <= 2,
            parts.count == 1 || UInt16(parts[1]) != nil
        else { return nil }
        return "https://\(name)"
    }
}
