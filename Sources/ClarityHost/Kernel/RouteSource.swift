import CLinux
import Platform
import Glibc

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

    /// A captured machine, from the kernel's answers to RTM_GETLINK and RTM_GETROUTE.
    static func captured(links: [UInt8], routes: [UInt8]) -> RouteSource {
        RouteSource { () throws(Fault) in try decoded(links, routes) }
    }

    /// A machine whose links and routes cannot be read, with the reason.
    static func none(_ reason: String) -> RouteSource {
        RouteSource { () throws(Fault) in throw Fault(reason: reason) }
    }

    fileprivate static func decoded(
        _ links: [UInt8], _ routes: [UInt8]
    ) throws(Fault) -> RouteTable {
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
