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
