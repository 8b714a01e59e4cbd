/// The checks that are being asked, those that wait for a place, and those that cannot be asked.
///
/// A check is asked once at a time, whoever asks. Waiting checks get places in the order in which
/// they were requested.
struct CheckQueue {
    /// The most checks that are asked at the same time.
    static let places = 8

    private var waiting: [String] = []
    private var asked: Set<String> = []
    private var stuck: Set<String> = []

    /// What to do about requested checks.
    struct Orders: Hashable {
        /// The checks to ask now.
        var start: [String] = []
        /// The checks whose last process was killed and has not ended. Another process would not
        /// end either.
        var refuse: [String] = []
    }

    /// Returns whether a check is being asked or waits for a place.
    func isOpen(_ name: String) -> Bool { asked.contains(name) || waiting.contains(name) }

    /// Adds requested checks, in the order of their names, and returns what to do.
    mutating func ask(_ names: Set<String>) -> Orders {
        var orders = Orders()
        for name in names.sorted() where !isOpen(name) {
            if stuck.contains(name) {
                orders.refuse.append(name)
            } else {
                waiting.append(name)
            }
        }
        orders.start = fillPlaces()
        return orders
    }

    /// Records that a check was answered, and whether its process still has not ended. Returns the
    /// checks to ask now.
    mutating func answer(_ name: String, isStuck: Bool) -> [String] {
        asked.remove(name)
        if isStuck { stuck.insert(name) }
        return fillPlaces()
    }

    /// Records that a stuck process has ended.
    mutating func free(_ name: String) { stuck.remove(name) }

    /// Drops the waiting checks.
    mutating func end() { waiting = [] }

    private mutating func fillPlaces() -> [String] {
        let next = waiting.prefix(CheckQueue.places - asked.count)
        waiting.removeFirst(next.count)
        asked.formUnion(next)
        return Array(next)
    }
}
