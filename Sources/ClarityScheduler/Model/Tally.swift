/// Counts that a worker reports, in the order in which they first appeared.
///
/// A name is lowercase words joined by `_`, such as `samples_read`.
public struct Tally: Hashable, Sendable {
    public private(set) var names: [String] = []
    private var counts: [String: Int64] = [:]

    /// Creates an empty tally.
    public init() {}

    /// The count named `name`; 0 if it was never set.
    public subscript(name: String) -> Int64 {
        get { counts[name] ?? 0 }
        set {
            if counts.updateValue(newValue, forKey: name) == nil { names.append(name) }
        }
    }

    /// Adds the counts of a further attempt of the same run.
    ///
    /// A count of what is still open at the end of an attempt (`..._processing`, `..._generating`)
    /// replaces the previous one; all others are added up.
    public mutating func add(_ attempt: Tally) {
        for name in attempt.names {
            let isOpen = name.hasSuffix("_processing") || name.hasSuffix("_generating")
            self[name] = isOpen ? attempt[name] : self[name] + attempt[name]
        }
    }

    public var isEmpty: Bool { names.isEmpty }

    /// Whether any count is above zero.
    public var hasCounted: Bool { counts.values.contains { $0 > 0 } }

    /// The counts on one line: `2041 samples read, 420 samples queued`.
    ///
    /// The first count is always shown, the others only if they are above zero.
    public var summary: String {
        names.enumerated().filter { $0.offset == 0 || self[$0.element] > 0 }.map(\.element).map {
            "\(self[$0]) \($0.replacing("_", with: " "))"
        }.joined(separator: ", ")
    }
}
