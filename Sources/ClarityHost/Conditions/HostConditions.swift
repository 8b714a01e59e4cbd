public import ClarityScheduler
import Glibc

/// The conditions of the machine that this runs on, from what the kernel shows of it.
///
/// Every answer is read anew each time and names the file that it comes from. A file that is
/// missing, unreadable or not understood makes its answer unknown with the reason, never a "yes".
/// Roaming, low power and idleness are unknown: those are known to a network manager, a power
/// daemon and a login manager, and none of them is asked.
public struct HostConditions: ConditionMonitor {
    private let tree: HostTree
    private let stateDirectory: String
    private let events: EventThread?

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
        tree = HostTree(root: root)
        self.stateDirectory = stateDirectory
        self.events = events
    }

    public func conditions() -> Conditions {
        let network = NetworkProbe(tree)
        let power = PowerProbe(tree)
        return Conditions(
            connected: network.connected,
            metered: network.metered,
            roaming: .unknown("no network manager is asked"),
            externalPower: power.externalPower,
            battery: power.battery,
            lowPower: .unknown("no power daemon is asked"),
            idle: .unknown("no login manager is asked"),
            storageFreeBytes: storageFreeBytes,
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

    private var storageFreeBytes: Conditions.Reading<Int64> {
        var status = statvfs()
        // A state directory that is not made yet will be on its nearest ancestor's file system.
        var folder = stateDirectory
        while statvfs(folder, &status) != 0 {
            guard errno == ENOENT, let slash = folder.lastIndex(of: "/") else {
                return .unknown("\(folder): \(String(cString: strerror(errno)))")
            }
            folder = slash == folder.startIndex ? "/" : String(folder[..<slash])
        }
        // Not `f_bfree`: what is kept for root is not this program's to use.
        let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(
            by: UInt64(status.f_frsize))
        return Conditions.Reading(
            overflow ? .max : Int64(clamping: bytes), source: folder)
    }
}
