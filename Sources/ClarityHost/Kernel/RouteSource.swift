import CLinux
import Glibc

/// Where a machine's links and routes are told.
struct RouteSource: Sendable {
    /// Why they are not, for people: `Permission denied`.
    struct Fault: Error, Hashable, Sendable {
        var reason: String
    }

    private let read: @Sendable () -> Result<RouteTable, Fault>

    init(_ read: @escaping @Sendable () -> Result<RouteTable, Fault>) { self.read = read }

    /// The links and routes now.
    func table() throws(Fault) -> RouteTable { try read().get() }

    /// This machine's, or those of the network namespace of the thread that asks; the kernel answers
    /// at once.
    static let live = RouteSource { RouteQuestion.table() }

    /// Those of a captured machine: the kernel's answers to RTM_GETLINK and RTM_GETROUTE.
    static func captured(links: [UInt8], routes: [UInt8]) -> RouteSource {
        RouteSource { decoded(links, routes).mapError { Fault(reason: $0.text) } }
    }

    /// Those of a machine that shows none, with the reason.
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
    /// For people.
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
    /// The most that is read of one answer, in bytes; some 10,000 links or 200,000 routes.
    private static let largest = 16 << 20
    /// What changes is read anew so many times.
    private static let attempts = 3

    static func table() -> Result<RouteTable, RouteSource.Fault> {
        // The kernel has its answer ready; the bound is for what is only called a kernel.
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

    /// All datagrams of the answer, one after the other.
    private static func answer(
        to request: Int32, _ sequence: UInt32, _ socket: Int32
    ) throws(RouteSource.Fault) -> [UInt8] {
        guard clinux_request_dump(socket, request, sequence) == 0 else { throw systemFault(errno) }
        var answer: [UInt8] = []
        // The kernel fills 32 KiB at most.
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
            // Somebody else's, or the rest of an answer that was given up.
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
