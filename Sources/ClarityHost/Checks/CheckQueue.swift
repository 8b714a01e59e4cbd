/// Which checks are being asked, which wait for a place, and which cannot be asked.
///
/// A check is asked once at a time, by whomever. Those that wait get their places in the order in
/// which they were asked for.
struct CheckQueue {
    /// The most checks that are asked at once.
    static let places = 8

    private var waiting: [String] = []
    private var asked: Set<String> = []
    private var stuck: Set<String> = []

    /// What is to be done about checks that somebody wants to know.
    struct Orders: Hashable {
        /// The checks to ask now.
        var start: [String] = []
        /// Those whose last process was killed and does not end: another would not either.
        var refuse: [String] = []
    }

    /// Whether an answer to a check is on its way.
    func isOpen(_ name: String) -> Bool { asked.contains(name) || waiting.contains(name) }

    /// Takes checks that somebody wants to know.
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

    /// Takes note that a check has its answer, and whether its process does not end all the same;
    /// returns the checks to ask now.
    mutating func answer(_ name: String, isStuck: Bool) -> [String] {
        asked.remove(name)
        if isStuck { stuck.insert(name) }
        return fillPlaces()
    }

    /// Takes note that a process that did not end is gone at last.
    mutating func free(_ name: String) { stuck.remove(name) }

    /// Forgets what waits.
    mutating func end() { waiting = [] }

    private mutating func fillPlaces() -> [String] {
        let next = waiting.prefix(CheckQueue.places - asked.count)
        waiting.removeFirst(next.count)
        asked.formUnion(next)
        return Array(next)
    }
}
