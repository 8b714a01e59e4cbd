import CMicroHTTPD
public import Platform
@preconcurrency import Glibc

/// The address to listen on: an IPv4 address and a port.
public struct ListenAddress: Hashable, Sendable {
    /// The address in host byte order.
    public var host: UInt32
    /// The port; 0 takes a free one.
    public var port: UInt16

    public init(host: UInt32, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Parses `ADDRESS:PORT` or `localhost:PORT`; `nil` for any other text.
    public init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"),
            let port = UInt16(text[text.index(after: colon)...])
        else { return nil }
        let name = text[..<colon] == "localhost" ? "127.0.0.1" : text[..<colon]
        var address = in_addr()
        guard inet_pton(AF_INET, String(name), &address) == 1 else { return nil }
        self.init(host: UInt32(bigEndian: address.s_addr), port: port)
    }

    /// Whether only this machine can connect: the address is within 127.0.0.0/8.
    public var isLoopback: Bool { host >> 24 == 127 }

    /// The address without the port.
    public var hostText: String {
        [24, 16, 8, 0].map { String(host >> $0 & 0xFF) }.joined(separator: ".")
    }
}

/// A listening socket.
public struct Listener: ~Copyable {
    /// The socket; closed by this type unless `release` has handed it over.
    private var descriptor: Int32
    public let address: ListenAddress

    /// Starts to listen on `wanted`.
    public init(_ wanted: ListenAddress) throws(SystemError) {
        let socket = socket(
            AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw SystemError() }
        var on: Int32 = 1
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = wanted.host.bigEndian
        name.sin_port = wanted.port.bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &name) { name in
            name.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                setsockopt(
                    socket, SOL_SOCKET, SO_REUSEADDR, &on,
                    socklen_t(MemoryLayout<Int32>.size)) == 0
                    && bind(socket, name, size) == 0 && listen(socket, SOMAXCONN) == 0
                    && getsockname(socket, name, &size) == 0
            }
        }
        guard isListening else {
            let code = errno
            close(socket)
            throw SystemError(code: code)
        }
        descriptor = socket
        address = ListenAddress(host: wanted.host, port: UInt16(bigEndian: name.sin_port))
    }

    /// Takes over a socket that listens already.
    public init(_ passed: PassedSocket) {
        descriptor = passed.descriptor
        address = passed.address
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Hands the socket over to the caller.
    public mutating func release() -> Int32 {
        defer { descriptor = -1 }
        return descriptor
    }
}

/// A listening socket that the service manager passed to this process, as sd_listen_fds(3) describes
/// it.
public struct PassedSocket: Sendable {
    /// Why a passed socket cannot be used.
    public enum Fault: Error, Hashable {
        /// There is not exactly one.
        case count(Int)
        /// The descriptor is no listening TCP socket of IPv4.
        case otherKind
    }

    /// The number of the first one that is passed.
    private static let first: Int32 = 3

    fileprivate let descriptor: Int32
    public let address: ListenAddress

    /// Takes the socket, and what was said about it out of the environment, so that no child takes
    /// it for its own. `nil` if none was passed to this process.
    ///
    /// Call it before the process has a second thread.
    public static func take() throws(Fault) -> PassedSocket? {
        let said = Environment.take(["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"])
        guard said["LISTEN_PID"] == "\(getpid())",
            let count = said["LISTEN_FDS"].flatMap({ Int($0) }), count != 0
        else { return nil }
        guard count == 1 else { throw .count(count) }
        return try PassedSocket(descriptor: first)
    }

    private init(descriptor: Int32) throws(Fault) {
        var isListening: Int32 = 0
        var type: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        var name = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isKnown = withUnsafeMutablePointer(to: &name) { name in
            name.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size) == 0
                    && getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0
                    && getsockname(descriptor, name, &length) == 0
                    && fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0
            }
        }
        guard isKnown, isListening != 0, type == Int32(SOCK_STREAM.rawValue),
            name.sin_family == sa_family_t(AF_INET)
        else { throw .otherKind }
        self.descriptor = descriptor
        address = ListenAddress(
            host: UInt32(bigEndian: name.sin_addr.s_addr), port: UInt16(bigEndian: name.sin_port))
    }
}

extension PassedSocket.Fault: CustomStringConvertible {
    public var description: String {
        switch self {
        case .count(let count): "the service manager passed \(count) sockets; wanted one"
        case .otherKind: "the service manager passed no TCP socket of IPv4 that listens"
        }
    }
}

/// The connections of a server, which it ends when their place or their time is over.
///
/// libmicrohttpd's own limits know only silence and the number of connections: a client that sends
/// a byte now and then keeps its place for ever. A connection is ended by shutdown(2) of its
/// socket, which libmicrohttpd meets as a client that has left.
///
/// Every method but `watch` and `stop` is called on the server's thread. A descriptor is in the
/// table only between libmicrohttpd's notes of the connection's begin and end, so it is no other
/// socket's yet.
final class Connections: Sendable {
    /// How many connections libmicrohttpd takes beyond the places, for those that are about to end.
    static let surplus: UInt32 = 64

    private struct State {
        var places: ConnectionPlaces
        var sockets: [UInt: Int32] = [:]
        var isStopped = false

        /// Ends a connection that has lost its place.
        mutating func cut(_ id: UInt) {
            if let socket = sockets[id] { shutdown(socket, Int32(SHUT_RDWR)) }
        }
    }

    private let state: Monitor<State>

    /// - Parameters:
    ///   - most: how many connections there are at the same time.
    ///   - patience: the seconds that a client may take from an answer to its next request.
    init(most: UInt32, patience: UInt32) {
        state = Monitor(
            State(places: ConnectionPlaces(most: Int(most), idleTime: .seconds(patience))))
    }

    /// Begins to watch the time; returns `false` if the system gives no thread.
    func start() -> Bool { DetachedThread.start { [self] in watch() } == 0 }

    func stop() { state.change { $0.isStopped = true } }

    func opened(_ connection: OpaquePointer) {
        let (id, now) = (UInt(bitPattern: connection), ContinuousClock.now)
        let socket = cmicrohttpd_socket(connection)
        let peer = cmicrohttpd_peer_host(connection)
        state.change { state in
            state.sockets[id] = socket
            if let victim = state.places.open(id, from: peer, at: now) { state.cut(victim) }
        }
    }

    func closed(_ connection: OpaquePointer) {
        change(connection) { state, id, _ in
            state.places.close(id)
            state.sockets[id] = nil
        }
    }

    /// Notes a whole head, and the person whose request it is, if that is known.
    func began(_ connection: OpaquePointer, by person: String?) {
        change(connection) { $0.places.begin($1, by: person, at: $2) }
    }

    func waits(_ connection: OpaquePointer) {
        change(connection) { state, id, _ in state.places.wait(id) }
    }

    func isAnswered(_ connection: OpaquePointer) {
        change(connection) { $0.places.answer($1, at: $2) }
    }

    func finished(_ connection: OpaquePointer) {
        change(connection) { $0.places.finish($1, at: $2) }
    }

    private func change(
        _ connection: OpaquePointer, _ body: (inout State, UInt, ContinuousClock.Instant) -> Void
    ) {
        let (id, now) = (UInt(bitPattern: connection), ContinuousClock.now)
        state.change { body(&$0, id, now) }
    }

    /// Ends the connections whose time is over, until the server stops.
    private func watch() {
        while true {
            let next = state.change { $0.places.next }
            let isStopped = state.change(
                when: { state in
                    guard let first = state.places.next else { return state.isStopped }
                    return state.isStopped || next.map { first < $0 } ?? true
                },
                within: next.map { max($0 - .now, .zero) }
            ) { state in
                for id in state.places.takeOverdue(at: .now) { state.cut(id) }
                return state.isStopped
            }
            if isStopped { return }
        }
    }
}

/// Which connections a server has places for, and until when.
///
/// A connection belongs to its peer's address, and to a known person once a request of that person
/// has come. Nobody is refused while somebody has more places: if all are taken, a new connection
/// ends an old one, first of strangers, and always of whoever has the most. So a client that holds
/// many connections, or opens them quickly, ends its own.
struct ConnectionPlaces {
    typealias Time = ContinuousClock.Instant

    /// Whom a connection belongs to.
    fileprivate enum Holder: Hashable {
        case stranger(UInt32)
        case known(String)
    }

    private struct Place {
        var holder: Holder
        /// Since when the client has to send a whole head; the oldest is the first to end.
        var since: Time
        /// When the connection ends if the client has not gone on; `nil` while it waits for the
        /// server.
        var deadline: Time?
    }

    /// How long a client may take for the first head, the TLS handshake included.
    static let headTime = Duration.seconds(10)
    /// How long a client may take for a body, and for reading the answer.
    static let bodyTime = Duration.seconds(600)

    private let most: Int
    private let idleTime: Duration
    private var places: [UInt: Place] = [:]

    /// - Parameter idleTime: how long a client may take from an answer to the end of the next head.
    init(most: Int, idleTime: Duration) {
        (self.most, self.idleTime) = (most, idleTime)
    }

    /// When the first deadline is.
    var next: Time? { places.values.lazy.compactMap(\.deadline).min() }

    /// Gives a new connection a place; returns the one that has to end for it, if any.
    mutating func open(_ id: UInt, from peer: UInt32, at now: Time) -> UInt? {
        places[id] = Place(
            holder: .stranger(peer), since: now,
            deadline: now + min(ConnectionPlaces.headTime, idleTime))
        guard places.count > most else { return nil }
        let victim = victim(beside: id) ?? id
        places[victim] = nil
        return victim
    }

    /// Notes that a whole head has come, of a person who is known or of nobody.
    mutating func begin(_ id: UInt, by person: String?, at now: Time) {
        if let person { places[id]?.holder = .known(person) }
        places[id]?.deadline = now + ConnectionPlaces.bodyTime
    }

    /// Notes that a client waits for the server, for as long as it may take.
    mutating func wait(_ id: UInt) { places[id]?.deadline = nil }

    /// Notes that a client gets its answer.
    mutating func answer(_ id: UInt, at now: Time) {
        places[id]?.deadline = now + ConnectionPlaces.bodyTime
    }

    /// Notes that a request is over.
    mutating func finish(_ id: UInt, at now: Time) {
        places[id]?.since = now
        places[id]?.deadline = now + idleTime
    }

    /// Notes that a connection is closed.
    mutating func close(_ id: UInt) { places[id] = nil }

    /// Takes out the connections whose time is over.
    mutating func takeOverdue(at now: Time) -> [UInt] {
        let overdue = places.filter { $0.value.deadline.map { $0 <= now } ?? false }
        overdue.keys.forEach { places[$0] = nil }
        return Array(overdue.keys)
    }

    /// Returns the connection to end: the oldest of whoever has the most. What waits for the server
    /// has limits of its own and stays.
    private func victim(beside new: UInt) -> UInt? {
        var counts: [Holder: Int] = [:]
        for place in places.values { counts[place.holder, default: 0] += 1 }
        return places.lazy.filter { $0.key != new && $0.value.deadline != nil }.min { one, other in
            let (one, other) = (one.value, other.value)
            let isKnown = (one.holder.isKnown, other.holder.isKnown)
            guard isKnown.0 == isKnown.1 else { return !isKnown.0 }
            let count = (counts[one.holder] ?? 0, counts[other.holder] ?? 0)
            return count.0 == count.1 ? one.since < other.since : count.0 > count.1
        }?.key
    }
}

extension ConnectionPlaces.Holder {
    fileprivate var isKnown: Bool { if case .known = self { true } else { false } }
}
