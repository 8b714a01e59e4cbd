import ClarityScheduler
import HTTPServing
import Platform
@preconcurrency import Glibc
import ClarityHost

/// The servers of `serve --lan`: one with TLS on each private address of this machine.
///
/// They follow the machine: a minute after its addresses have changed, or when the certificate has
/// been renewed, others take their place. It belongs to the main thread.
final class LocalServers {
    /// Why there is no server for other machines.
    enum Fault: Error, Hashable, CustomStringConvertible {
        case noAddress
        case system(SystemError)
        case certificate(BackupError)
        case taken(address: String, SystemError)
        case unusable

        var status: ExitStatus {
            if case .certificate = self { .configuration } else { .unreachable }
        }

        var description: String {
            switch self {
            case .noAddress:
                "`--lan` found no private address (10.*, 172.16-31.*, 192.168.* or 169.254.*) on "
                    + "this machine; connect it to the local network, or leave out `--lan`"
            case .system(let error): "cannot list the addresses of this machine: \(error)"
            case .certificate(let error): "\(error)"
            case .taken(let address, let error):
                "cannot listen on \(address): \("\(error)".lowercased())"
            case .unusable: "cannot use the certificate of `--lan`, or start a thread"
            }
        }
    }

    /// Starts a server on a listener.
    typealias Start = (consuming Listener, HTTPServer.Identity, LocalNames) -> HTTPServer?

    private let state: String
    private let port: UInt16
    private let start: Start
    private var servers: [HTTPServer] = []
    private var served: (names: LocalNames, certificate: LocalCertificate)?
    private var lastFault: Fault?

    init(stateDirectory state: String, port: UInt16, start: @escaping Start) {
        (self.state, self.port, self.start) = (state, port, start)
    }

    /// The address to give to other devices; `nil` if there is no server.
    var address: String? { served.map { url($0.names.addresses[0]) } }

    /// Starts servers, or replaces those that no longer fit; returns whether it did.
    func follow(at now: Instant) throws(Fault) -> Bool {
        let names: LocalNames
        do throws(SystemError) {
            names = try LocalNames.current()
        } catch {
            throw .system(error)
        }
        guard !names.addresses.isEmpty else {
            stop()
            throw .noAddress
        }
        let certificate: LocalCertificate
        do throws(BackupError) {
            certificate = try LocalCertificate.kept(in: state, for: names, at: now)
        } catch {
            throw .certificate(error)
        }
        if let served, served == (names, certificate) { return false }
        // A program that is being started holds a closed socket until it has begun (execve(2)).
        let patience = ContinuousClock.now + .milliseconds(servers.isEmpty ? 0 : 1000)
        stop()
        let identity = HTTPServer.Identity(certificate: certificate.pem, key: certificate.pem)
        for address in names.addresses {
            do throws(Fault) {
                servers.append(try server(on: address, identity, names, until: patience))
            } catch {
                stop()
                throw error
            }
        }
        served = (names, certificate)
        return true
    }

    /// Follows the machine, and says what has changed; returns whether anything did.
    func keepUp(at now: Instant) -> Bool {
        do throws(Fault) {
            let isChanged = try follow(at: now)
            if isChanged { report() }
            lastFault = nil
            return isChanged
        } catch {
            // It is tried again every minute, and reported once.
            if error != lastFault { complain("\(error)".forReport) }
            lastFault = error
            return false
        }
    }

    /// Says where the pages are, and what to compare the certificate with.
    func report() {
        guard let served else { return }
        for address in served.names.addresses {
            complain("pages listening on \(url(address))/")
        }
        complain("SHA-256 fingerprint of the certificate: \(served.certificate.fingerprint)")
    }

    func stop() {
        for server in servers { server.stop() }
        servers = []
        served = nil
    }

    private func url(_ address: LocalAddress) -> String { "https://\(address.text):\(port)" }

    private func server(
        on address: LocalAddress, _ identity: HTTPServer.Identity, _ names: LocalNames,
        until end: ContinuousClock.Instant
    ) throws(Fault) -> HTTPServer {
        while true {
            let server: HTTPServer?
            do throws(SystemError) {
                let listener = try Listener(ListenAddress(host: address.host, port: port))
                server = start(listener, identity, names)
            } catch {
                guard error.code == EADDRINUSE, .now < end else {
                    throw .taken(address: "\(address.text):\(port)", error)
                }
                usleep(10_000)
                continue
            }
            guard let server else { throw .unusable }
            return server
        }
    }
}

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
