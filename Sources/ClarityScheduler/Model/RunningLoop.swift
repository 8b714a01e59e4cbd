/// A loop that runs.
public struct RunningLoop: Hashable, Sendable {
    /// The name of the machine; `nil` for this one.
    public var machine: String?
    public var process: Int32
    public var since: Instant
    /// Whether it waits for another loop to end, which decides meanwhile.
    public var isStandby: Bool

    /// Creates a loop.
    public init(
        machine: String? = nil, process: Int32, since: Instant, isStandby: Bool = false
    ) {
        self.machine = machine
        self.process = process
        self.since = since
        self.isStandby = isStandby
    }
}

extension [RunningLoop] {
    /// Whether there are loops, and all of them wait for one that decides.
    public var isLeaderless: Bool { !isEmpty && allSatisfy(\.isStandby) }
}
