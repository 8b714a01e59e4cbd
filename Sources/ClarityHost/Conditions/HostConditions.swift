public import ClarityScheduler

/// The conditions of the machine that this runs on, from what the kernel shows of it.
///
/// Every answer is read anew each time and names where it comes from. A file that is
/// missing, unreadable or not understood makes its answer unknown with the reason, never a "yes".
/// No network manager, power daemon or login manager is asked: what they alone know is unknown.
public struct HostConditions: ConditionMonitor {
    private let tree: HostTree
    private let stateDirectory: String
    private let events: EventThread?
    private let routes: RouteSource

    /// Creates a monitor.
    ///
    /// - Parameters:
    ///   - root: The folder in which `proc` and `sys` are found; another than `/` is a captured
    ///     machine.
    ///   - stateDirectory: The folder whose file system's free space is told, or would be once
    ///     it is made; not below `root`.
    ///   - events: The thread that listens for changes; without one it is `EventThread.shared`, which
    ///     starts with the first that listens.
    public init(root: String = "/", stateDirectory: String, events: EventThread? = nil) {
        // A captured machine has no kernel to ask.
        let routes = root == "/" ? RouteSource.live : .none("none of a captured machine")
        self.init(root: root, stateDirectory: stateDirectory, routes: routes, events: events)
    }

    init(
        root: String, stateDirectory: String, routes: RouteSource, events: EventThread? = nil
    ) {
        tree = HostTree(root: root)
        self.stateDirectory = stateDirectory
        self.events = events
        self.routes = routes
    }

    public func conditions() -> Conditions {
        let network = NetworkProbe(tree, routes: routes)
        let power = PowerProbe(tree)
        return Conditions(
            connected: network.connected,
            metered: network.metered,
            roaming: network.roaming,
            externalPower: power.externalPower,
            battery: power.battery,
            lowPower: PowerProfileProbe(tree: tree).lowPower
                ?? .unknown("no power daemon is asked"),
            idle: .unknown("no login manager is asked"),
            storageFreeBytes: StorageProbe.state(stateDirectory),
            pressurePercent: PressureProbe(tree: tree).pressurePercent)
    }

    public func ask(_ checks: Set<String>) {}

    /// An element whenever a link, a route or a power supply changes or the wall clock is set;
    /// changes that come faster than they are taken are one element.
    ///
    /// The kernel's own events are waited for, nothing is polled. Where it gives none, as in a
    /// sandbox without netlink or for power supplies in a container, the stream stays silent: a
    /// caller that must not miss a change asks `conditions()` when a decision is due. Storage and
    /// pressure give no events at all.
    public func changes() -> AsyncStream<Void> {
        guard let events = events ?? .shared else { return AsyncStream { _ in } }
        return KernelEvents.stream(on: events)
    }
}
