import ClarityScheduler
import ClaritySystem
@preconcurrency import Glibc

/// Tells what a lease found in the store is worth.
///
/// A lease lapses when the machine has started anew since, when its holder has not renewed it for
/// `Planner.leaseTerm` while the machine was awake, or when no process holds its owner's lock any
/// more. Wall time has no part in it, so that no step of the clock ends a lease; nor has time spent
/// in suspend, after which whoever looks first would take over from holders that are alive.
struct Leases {
    let bootID: String
    private let folder: String
    private let ownOwner: String?

    init(folder: String, ownOwner: String?) {
        self.folder = folder
        self.ownOwner = ownOwner
        bootID = SystemClock().boot ?? "unknown"
    }

    /// When a lease that is taken or renewed now lapses, in milliseconds awake since the machine
    /// started.
    var nextExpiry: Int64 { Leases.awakeMilliseconds + Planner.leaseTerm.milliseconds }

    func standing(of owner: String, boot: String, expires: Int64) -> Lease.Standing {
        if owner == ownOwner { return .mine }
        guard boot == bootID, expires > Leases.awakeMilliseconds, isAlive(owner, patience: .zero)
        else {
            return .lapsed
        }
        return .held
    }

    /// Removes the lock files of owners that are gone.
    ///
    /// Where a scheduler is gone, its last workers get a second to notice: they end at once when their
    /// order's descriptor closes, but that takes them a moment. Done once, before the first decision,
    /// since a decision keeps every other process waiting.
    func removeLapsed() {
        guard let listing = opendir(folder) else { return }
        defer { closedir(listing) }
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            let isGone =
                name.hasPrefix(".")
                ? isLeftDraft(name) : name != ownOwner && !isAlive(name, patience: .seconds(1))
            if isGone { unlink("\(folder)/\(name)") }
        }
    }

    /// Whether a name is that of a lock file which its process did not live to finish (`LeaseLock`).
    ///
    /// That takes no time, so one that is a minute old and whose process is gone is nobody's. A process
    /// of another container is gone to this one, which is why its age counts as well.
    private func isLeftDraft(_ name: String) -> Bool {
        guard let processID = name.dropFirst().split(separator: "-").first.flatMap({ pid_t($0) }),
            Leases.hasEnded(processID)
        else { return false }
        return secondsSinceWritten("\(folder)/\(name)") ?? 0 > 60
    }

    /// Whether any process still holds the lock of `owner`.
    ///
    /// Waits up to `patience` for the workers of a scheduler that is gone.
    private func isAlive(_ owner: String, patience: Duration) -> Bool {
        let descriptor = open("\(folder)/\(owner)", O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let processID = owner.split(separator: "-").first.flatMap { pid_t($0) }
        var looksLeft = patience.milliseconds / 10
        while flock(descriptor, LOCK_SH | LOCK_NB) != 0 {
            guard let processID, looksLeft > 0, Leases.hasEnded(processID) else { return true }
            looksLeft -= 1
            usleep(10_000)
        }
        return false
    }

    /// Whether a process is gone, or has ended and merely waits to be reaped: whoever started it may
    /// be slow to do that, or never do it, as many a container's first process.
    static func hasEnded(_ process: pid_t) -> Bool {
        if kill(process, 0) != 0 { return errno == ESRCH }
        let descriptor = open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
        // Gone meanwhile, or hidden from us: then it counts as running.
        guard descriptor >= 0 else { return errno == ENOENT && kill(process, 0) != 0 }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = read(descriptor, &bytes, bytes.count)
        // `pid (name) state ...`, where the name may hold anything (proc(5)).
        let fields = bytes.prefix(max(count, 0))
        guard let name = fields.lastIndex(of: UInt8(ascii: ")")) else { return false }
        let state = fields[name...].dropFirst(2).first
        return state == UInt8(ascii: "Z") || state == UInt8(ascii: "X")
    }

    /// The time since the machine started, without that spent in suspend.
    private static var awakeMilliseconds: Int64 { SystemClock().awake.milliseconds }
}
