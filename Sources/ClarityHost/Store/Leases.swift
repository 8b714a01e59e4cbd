import ClarityScheduler
import ClaritySystem
@preconcurrency import Glibc

/// Determines whether the leases in the store are held, lapsed or this process's own.
///
/// A lease lapses when the machine restarts, when its holder has not renewed it for
/// `Planner.leaseTerm` while the machine was awake, or when no process holds its owner's lock any
/// more. Wall time plays no part, so that a change of the clock ends no lease. Time in suspend does
/// not count: otherwise the first process to look after a resume would take over from living
/// holders.
struct Leases {
    let bootID: String
    private let folder: String
    private let ownOwner: String?

    init(folder: String, ownOwner: String?) {
        self.folder = folder
        self.ownOwner = ownOwner
        bootID = SystemClock().boot ?? "unknown"
    }

    /// The expiry of a lease that is taken or renewed now, in milliseconds awake since the machine
    /// started.
    var nextExpiry: Int64 { Leases.awakeMilliseconds + Planner.leaseTerm.milliseconds }

    func state(of owner: String, boot: String, expires: Int64) -> Lease.State {
        if owner == ownOwner { return .mine }
        guard boot == bootID, expires > Leases.awakeMilliseconds, isAlive(owner, patience: .zero)
        else {
            return .lapsed
        }
        return .held
    }

    /// Removes the lock files of owners that are gone.
    ///
    /// After a scheduler dies, its last workers get one second to notice. They end as soon as their
    /// order's descriptor closes, but that takes a moment. This runs once, before the first
    /// decision, because a decision keeps every other process waiting.
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

    /// Whether a name belongs to a draft lock file whose process died before it renamed the file
    /// (`LeaseLock`).
    ///
    /// Renaming takes no time, so a draft is abandoned if it is more than a minute old and its
    /// process is gone. A process in another container looks gone from here, which is why the age
    /// counts as well.
    private func isLeftDraft(_ name: String) -> Bool {
        guard let processID = name.dropFirst().split(separator: "-").first.flatMap({ pid_t($0) }),
            Leases.hasEnded(processID)
        else { return false }
        return secondsSinceWritten("\(folder)/\(name)") ?? 0 > 60
    }

    /// Whether any process still holds the lock of `owner`.
    ///
    /// Waits up to `patience` for the workers of a dead scheduler to end.
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

    /// Whether a process is gone, or has ended and only waits to be reaped.
    ///
    /// Its parent may reap it late or never, like the first process of many containers.
    static func hasEnded(_ process: pid_t) -> Bool {
        if kill(process, 0) != 0 { return errno == ESRCH }
        let descriptor = open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
        // If the process is gone meanwhile, it has ended; if it is hidden from us, it counts as
        // running.
        guard descriptor >= 0 else { return errno == ENOENT && kill(process, 0) != 0 }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = read(descriptor, &bytes, bytes.count)
        // The line is `pid (name) state ...`, and the name may contain anything (proc(5)).
        let fields = bytes.prefix(max(count, 0))
        guard let name = fields.lastIndex(of: UInt8(ascii: ")")) else { return false }
        let state = fields[name...].dropFirst(2).first
        return state == UInt8(ascii: "Z") || state == UInt8(ascii: "X")
    }

    /// The time since the machine started, without time in suspend.
    private static var awakeMilliseconds: Int64 { SystemClock().awake.milliseconds }
}
