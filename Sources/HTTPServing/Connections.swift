import CMicroHTTPD
import Platform
@preconcurrency import Glibc

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
