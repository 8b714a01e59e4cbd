/// What people say about their network interfaces, which no kernel knows: the first rule whose
/// pattern matches an interface's name counts.
public struct InterfaceRules: Hashable, Sendable {
    /// What an interface is. The three exclude each other: who says that it is metered says that it
    /// does not roam, and what roams is metered as well.
    public enum Nature: String, CaseIterable, Hashable, Sendable {
        case metered, unmetered, roaming
    }

    /// One line of them: `wwan*` is metered.
    public struct Rule: Hashable, Sendable {
        /// A name in which `*` stands for any number of bytes and `?` for one; every other byte, `[`
        /// and `\` too, stands for itself.
        public var pattern: String
        public var nature: Nature

        /// Creates a rule.
        public init(_ pattern: String, _ nature: Nature) {
            self.pattern = pattern
            self.nature = nature
        }
    }

    public var rules: [Rule]

    /// Creates rules that are asked in this order.
    public init(_ rules: [Rule] = []) { self.rules = rules }

    /// The rule that counts for an interface.
    public func rule(for name: String) -> Rule? {
        rules.first { InterfaceRules.matches($0.pattern, name) }
    }

    /// Whether a pattern matches the whole of a name; takes at most the product of their lengths in
    /// steps.
    static func matches(_ pattern: String, _ name: String) -> Bool {
        let (pattern, name) = (Array(pattern.utf8), Array(name.utf8))
        let (star, any) = (UInt8(ascii: "*"), UInt8(ascii: "?"))
        var (place, next) = (0, 0)
        // After the last star, and where in the name its share ends so far.
        var retry: (place: Int, next: Int)?
        while next < name.count {
            if place < pattern.count, pattern[place] == star {
                place += 1
                retry = (place, next)
            } else if place < pattern.count, pattern[place] == any || pattern[place] == name[next] {
                place += 1
                next += 1
            } else if let last = retry {
                retry = (last.place, last.next + 1)
                (place, next) = (last.place, last.next + 1)
            } else {
                return false
            }
        }
        return pattern[place...].allSatisfy { $0 == star }
    }
}
