import CLinux
import Glibc

/// A source of a machine's links and routes.
struct RouteSource: Sendable {
    /// Why they cannot be read: `Permission denied`.
    struct Fault: Error, Hashable, Sendable {
        var reason: String
    }

    private let read: @Sendable () -> Result<RouteTable, Fault>

    init(_ read: @escaping @Sendable () -> Result<RouteTable, Fault>) { self.read = read }

    /// Returns the current links and routes.
    func table() throws(Fault) -> RouteTable { try read().get() }

    /// This machine, or the network namespace of the calling thread. The kernel answers at once.
    static let live = RouteSource { RouteQuestion.table() }

    /// A captured machine, from the kernel's answers to RTM_GETLINK and RTM_GETROUTE.
    static func captured(links: [UInt8], routes: [UInt8]) -> RouteSource {
        RouteSource { decoded(links, routes).mapError { Fault(reason: $0.text) } }
    }

    /// A machine whose links and routes cannot be read, with the reason.
    static func none(_ reason: String) -> RouteSource {
        RouteSource { .failure(Fault(reason: reason)) }
    }

    fileprivate static func decoded(
        _ links: [UInt8], _ routes: [UInt8]
    ) -> Result<RouteTable, NetlinkMessage.Fault> {
        do throws(NetlinkMessage.Fault) {
            return .success(try RouteTable(links: links, routes: routes))
        } catch {
            return .failure(error)
        }
    }
}

extension NetlinkMessage.Fault {
    /// The fault as text for the user.
    var text: String {
        switch self {
        case .refused(let code): String(cString: strerror(code))
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

    static func table() -> Result<RouteTable, RouteSource.Fault> {
        // The kernel answers at once. The limit of 1 s is for systems that only emulate one.
        let socket = clinux_ask_routes(1000)
        guard socket >= 0 else { return .failure(systemFault(errno)) }
        defer { close(socket) }
        var fault = NetlinkMessage.Fault.interrupted
        for attempt in 1...attempts {
            do throws(RouteSource.Fault) {
                let sequence = UInt32(attempt) * 2
                let links = try answer(to: getLink, sequence, socket)
                let routes = try answer(to: getRoute, sequence + 1, socket)
                switch RouteSource.decoded(links, routes) {
                case .success(let table): return .success(table)
                case .failure(.interrupted): fault = .interrupted
                case .failure(let other): return .failure(RouteSource.Fault(reason: other.text))
                }
            } catch {
                return .failure(error)
            }
        }
        return .failure(RouteSource.Fault(reason: fault.text))
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
        RouteSource.Fault(reason: String(cString: strerror(code)))
    }
}
