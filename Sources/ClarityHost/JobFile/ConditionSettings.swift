/// The job file's settings for measuring this machine's conditions.
public struct ConditionSettings: Hashable, Sendable {
    /// The nature of connections over network interfaces, in the file's order; the first rule that
    /// matches an interface's name counts.
    public var interfaces: InterfaceRules
    /// The load of the last minute below which a host without sessions is idle, in percent of its
    /// processors, 1 to 400; `nil` if the file does not set it.
    public var idleLoadBelowPercent: Int?
    /// An http or https URL that answers if there is a working connection; `nil` if none is probed.
    public var probe: String?

    /// Creates settings; by default, nothing is set.
    public init(
        interfaces: InterfaceRules = InterfaceRules(), idleLoadBelowPercent: Int? = nil,
        probe: String? = nil
    ) {
        self.interfaces = interfaces
        self.idleLoadBelowPercent = idleLoadBelowPercent
        self.probe = probe
    }
}
