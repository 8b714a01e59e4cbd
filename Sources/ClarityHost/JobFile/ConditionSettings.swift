/// How this machine's conditions are found out, as the job file says.
public struct ConditionSettings: Hashable, Sendable {
    /// What connections over network interfaces are, in the file's order: the first rule that matches
    /// an interface's name counts.
    public var interfaces: [InterfaceRule]
    /// On a host without sessions: the load of the last minute, in percent of its processors, below
    /// which it is idle, 1 to 400; `nil` where the file says nothing.
    public var idleLoadBelowPercent: Int?
    /// A URL of http or https that answers where there is a connection that leads somewhere; `nil`
    /// where none is asked.
    public var probe: String?

    /// Creates settings; as they stand there are none.
    public init(
        interfaces: [InterfaceRule] = [], idleLoadBelowPercent: Int? = nil, probe: String? = nil
    ) {
        self.interfaces = interfaces
        self.idleLoadBelowPercent = idleLoadBelowPercent
        self.probe = probe
    }

    /// What the first rule that matches says of an interface; `nil` where none does.
    public func kind(ofInterface name: String) -> InterfaceRule.Kind? {
        interfaces.first { $0.matches(name) }?.kind
    }
}

/// What a connection over some network interfaces is.
public struct InterfaceRule: Hashable, Sendable {
    /// What a connection may be.
    public enum Kind: String, CaseIterable, Sendable {
        case metered
        case unmetered
        /// In a foreign network, and so metered too.
        case roaming
    }

    /// An interface's name, in which `*` stands for any characters and `?` for one.
    public var pattern: String
    public var kind: Kind

    /// Creates a rule.
    public init(_ pattern: String, _ kind: Kind) {
        self.pattern = pattern
        self.kind = kind
    }

    /// Whether the rule is about an interface of this name.
    public func matches(_ name: String) -> Bool {
        let (pattern, name) = (Array(pattern.utf8), Array(name.utf8))
        var (inPattern, inName) = (0, 0)
        // Where the last `*` stands, and up to where it has taken the name.
        var star: (inPattern: Int, inName: Int)?
        while inName < name.count {
            if inPattern < pattern.count, pattern[inPattern] == UInt8(ascii: "*") {
                star = (inPattern, inName)
                inPattern += 1
            } else if inPattern < pattern.count,
                pattern[inPattern] == UInt8(ascii: "?") || pattern[inPattern] == name[inName]
            {
                inPattern += 1
                inName += 1
            } else if let last = star {
                star = (last.inPattern, last.inName + 1)
                (inPattern, inName) = (last.inPattern + 1, last.inName + 1)
            } else {
                return false
            }
        }
        return pattern[inPattern...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}
