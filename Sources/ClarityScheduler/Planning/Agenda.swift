/// When each job has to be looked at next: a heap, so that a look costs what is due and not what
/// there is.
///
/// An entry may be too early, since other processes move a job's clock on; it is never too late
/// unless the clock on the wall steps back, after which the agenda is made anew.
struct Agenda: Hashable, Sendable {
    struct Entry: Hashable, Sendable {
        var at: Instant
        /// The job's place in its set; decides between entries of the same instant.
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

    /// Takes out the earliest entry when it is not after `instant`.
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

/// What an agenda was made for, and what makes it void when it is no longer so.
struct AgendaBasis: Hashable, Sendable {
    /// `Ledger.setbacks`.
    var setbacks = 0
    /// The furthest that the clock on the wall, or a job's clock, has been seen: while the former is
    /// not far behind it, no job's clock has to be set back.
    var furthest = Instant(millisecondsSince1970: .min)
    /// Both clocks when they were last read.
    var seen: Moment?
}
