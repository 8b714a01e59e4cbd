/// How this machine's conditions are found out, as the job file says.
public struct ConditionSettings: Hashable, Sendable {
    /// What connections over network interfaces are, in the file's order: the first rule that matches
    /// an interface's name counts.
    public var interfaces: InterfaceRules
    /// On a host without sessions: the load of the last minute, in percent of its processors, below
    /// which it is idle, 1 to 400; `nil` where the file says nothing.
    public var idleLoadBelowPercent: Int?
    /// A URL of http or https that answers where there is a connection that leads somewhere; `nil`
    /// where none is asked.
    public var probe: String?

    /// Creates settings; as they stand there are none.
    public init(
        interfaces: InterfaceRules = InterfaceRules(), idleLoadBelowPercent: Int? = nil,
        probe: String? = nil
    ) {
        self.interfaces = interfaces
        self.idleLoadBelowPercent = idleLoadBelowPercent
        self.probe = probe
    }
}
