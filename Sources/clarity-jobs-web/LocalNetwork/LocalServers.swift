import ClarityScheduler
import HTTPServing
import Platform
@preconcurrency import Glibc

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
