/// A heap of the instants at which each job is due next, so that a decision costs time for the due
/// jobs alone.
///
/// An entry may be too early, because other processes advance a job's clock. It is never too late,
/// unless the wall clock steps back; after that the agenda is built anew.
struct Agenda: Hashable, Sendable {
    struct Entry: Hashable, Sendable {
        var at: Instant
        /// The job's place in its set; breaks ties between entries of the same instant.
        var place: Int

        func isBefore(_ other: Entry) -> Bool { (at, place) < (other.at, other.place) }
    }

    private var heap: [Entry] = []

    /// The earliest entry.
    var first: Entry? { heap.first }

    mutating func insert(_ entry: Entry) {
        heap.append(entry)
        var child = heap.count - 1
        while child > 0, heap[child].isBefore(heap[(child - 1) / 2]) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Removes the entries of these places.
    mutating func remove(_ places: Set<Int>) {
        let kept = heap.filter { !places.contains($0.place) }
        guard kept.count < heap.count else { return }
        // An array in ascending order is a heap.
        heap = kept.sorted { $0.isBefore($1) }
    }

    /// Removes and returns the earliest entry if it is not after `instant`.
    mutating func popFirst(through instant: Instant) -> Entry? {
        guard let first = heap.first, first.at <= instant else { return nil }
        let last = heap.removeLast()
        guard !heap.isEmpty else { return first }
        heap[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && heap[child].isBefore(heap[least]) {
                least = child
            }
            guard least != parent else { return first }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}

/// The state for which an agenda was built; the agenda is invalid when this state has changed.
struct AgendaBasis: Hashable, Sendable {
    /// The value of `Ledger.setbacks`.
    var setbacks = 0
    /// The latest time that the wall clock or a job's clock has shown. While the wall clock is not
    /// far behind it, no job's clock has to be set back.
    var furthest = Instant(millisecondsSince1970: .min)
    /// Both clocks when they were last read.
    var seen: Moment?
}
