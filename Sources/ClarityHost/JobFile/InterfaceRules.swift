/// The user's rules about network interfaces, for facts that the kernel does not know.
///
/// The first rule whose pattern matches an interface's name counts.
public struct InterfaceRules: Hashable, Sendable {
    /// The nature of an interface, exactly one of three: `metered` implies that it does not roam,
    /// and `roaming` implies that it is metered.
    public enum Nature: String, CaseIterable, Hashable, Sendable {
        case metered, unmetered, roaming
    }

    /// One rule, such as `wwan*` is metered.
    public struct Rule: Hashable, Sendable {
        /// A name in which `*` matches any number of bytes and `?` matches one. Every other byte,
        /// including `[` and `\`, matches itself.
        public var pattern: String
        public var nature: Nature

        /// Creates a rule.
        public init(_ pattern: String, _ nature: Nature) {
            self.pattern = pattern
            self.nature = nature
        }
    }

    public var rules: [Rule]

    /// Creates rules that are tried in this order.
    public init(_ rules: [Rule] = []) { self.rules = rules }

    /// Returns the first rule that matches an interface's name.
    public func rule(for name: String) -> Rule? {
        rules.first { InterfaceRules.matches($0.pattern, name) }
    }

    /// Whether a pattern matches a whole name; takes at most as many steps as the product of their
    /// lengths.
    static func matches(_ pattern: String, _ name: String) -> Bool {
        let (pattern, name) = (Array(pattern.utf8), Array(name.utf8))
        let (star, any) = (UInt8(ascii: "*"), UInt8(ascii: "?"))
        var (place, next) = (0, 0)
        // The pattern index after the last star, and the end of the star's match so far.
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
