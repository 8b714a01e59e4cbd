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
