@preconcurrency import Glibc

/// The service manager that started this process, as sd_notify(3) describes it.
///
/// The protocol is one datagram a message, so that a process needs no libsystemd to speak it. A
/// message that cannot be sent is lost: the manager acts on silence by itself. A manager that is busy
/// is waited for, as sd_notify(3) does, so that it does not miss that the service is ready.
public final class ServiceManager: Sendable {
    private let descriptor: Int32
    private let address: [UInt8]
    /// Within which time the manager wants each sign of life; `nil` without a watchdog.
    public let watchdog: Duration?

    /// Takes what the manager said in the environment out of it, so that no child can report in
    /// this process's name. `nil` if no manager wants to hear.
    ///
    /// Call it before the process has a second thread.
    public static func takeFromEnvironment() -> ServiceManager? {
        ServiceManager(
            Environment.take(["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]),
            process: getpid())
    }

    /// Creates the manager that an environment names; `nil` if it names no socket of an address
    /// family that this process can use.
    init?(_ environment: [String: String], process: pid_t) {
        guard let path = environment["NOTIFY_SOCKET"], path.utf8.count > 1,
            path.hasPrefix("/") || path.hasPrefix("@"),
            let address = ServiceManager.address(path)
        else { return nil }
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        // A manager that does not read must not hold up what reports to it.
        var patience = timeval(tv_sec: 1, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience,
            socklen_t(MemoryLayout<timeval>.size))
        self.descriptor = descriptor
        self.address = address
        let isMine = environment["WATCHDOG_PID"].map { $0 == "\(process)" } ?? true
        let span = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
        watchdog = isMine && span > 0 ? .microseconds(span) : nil
    }

    deinit { close(descriptor) }

    /// Sends assignments such as `READY=1`; gives up after a second if the manager does not read.
    public func say(_ assignments: String...) {
        let message = Array(assignments.joined(separator: "\n").utf8)
        address.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            _ = sendto(
                descriptor, message, message.count, Int32(MSG_NOSIGNAL),
                base.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
    }

    /// Returns the address of unix(7) for a path, or for an abstract name that begins with `@`.
    private static func address(_ path: String) -> [UInt8]? {
        var name = Array(path.utf8)
        if name[0] == UInt8(ascii: "@") { name[0] = 0 } else { name.append(0) }
        guard name.count <= MemoryLayout.size(ofValue: sockaddr_un().sun_path) else { return nil }
        return withUnsafeBytes(of: sa_family_t(AF_UNIX)) { Array($0) } + name
    }
}
