import CLinux
@preconcurrency import Glibc
import Synchronization

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

/// The environment of this process.
public enum Environment {
    /// Returns the value of a variable; `nil` if it is not set.
    public static func value(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// Returns the values of those variables that are set.
    public static func values(_ names: [String]) -> [String: String] {
        names.reduce(into: [:]) { $0[$1] = value($1) }
    }

    /// Returns variables and takes them out of the environment, so that no child process sees them.
    ///
    /// Call it before the process has a second thread.
    public static func take(_ names: [String]) -> [String: String] {
        defer { names.forEach { unsetenv($0) } }
        return values(names)
    }

    /// Returns all variables by name.
    public static func all() -> [String: String] {
        var result: [String: String] = [:]
        var next = environ
        while let entry = next.pointee {
            if let equals = strchr(entry, Int32(UInt8(ascii: "="))) {
                let name = UnsafeRawBufferPointer(start: entry, count: equals - entry)
                result[String(decoding: name, as: UTF8.self)] = String(cString: equals + 1)
            }
            next += 1
        }
        return result
    }
}

/// The version of this package's programs, which they show to users and to the backend.
///
/// It is also stored with files that were read, because another version may read the same file
/// differently.
public let programVersion = "0.1.0"

/// The commit of which this program was built; `nil` if it is no release, or not known.
///
/// A release has it as the identifier of the linker, followed by `jobs` (`scripts/static`).
public var programCommit: String? {
    var bytes = [UInt8](repeating: 0, count: 24)
    guard clinux_build_id(&bytes, 24) == 24, bytes.suffix(4).elementsEqual("jobs".utf8) else {
        return nil
    }
    return hexEncoded(bytes.prefix(20))
}

/// A shared library that this program has loaded, as the library itself says.
public struct LibraryVersion: Hashable, Sendable {
    public var name: String
    /// Its version, and those of the libraries that it uses if it names them.
    public var version: String

    public init(name: String, version: String) {
        self.name = name
        self.version = version
    }

    /// The functions by which libraries tell their versions.
    private static let functions = [
        ("SQLite", "sqlite3_libversion"), ("libsodium", "sodium_version_string"),
        ("libyaml", "yaml_get_version_string"), ("libcurl", "curl_version"),
        ("libarchive", "archive_version_details"), ("libmicrohttpd", "MHD_get_version"),
    ]

    /// Returns the libraries of this program.
    public static func loaded() -> [LibraryVersion] {
        functions.compactMap { name, function in
            guard let text = clinux_library_text(function).map({ String(cString: $0) }) else {
                return nil
            }
            // Some begin with their name.
            let isNamed = text.hasPrefix("\(name)/") || text.hasPrefix("\(name) ")
            return LibraryVersion(
                name: name, version: isNamed ? String(text.dropFirst(name.count + 1)) : text)
        }
    }
}

/// The SIGINT or SIGTERM that asks a program to end at its next good point.
///
/// For a program that works on one thread and looks at `received` between two steps. A second signal
/// of the same kind ends the program at once, as users expect of a second Ctrl-C.
public enum StopSignal {
    /// The number of the first signal that came; `nil` if none did.
    public static var received: Int32? {
        let number = stopSignal.load(ordering: .relaxed)
        return number == 0 ? nil : number
    }

    /// The status of a program that a signal ended.
    public static var status: ExitStatus { received == SIGTERM ? .terminated : .interrupted }

    /// Takes over the signals, before the work begins.
    public static func prepare() {
        // Created first: the signal handler must not be the one that creates it.
        _ = received
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in [SIGINT, SIGTERM] {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { number in
                stopSignal.store(number, ordering: .relaxed)
            }
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND)) | SA_RESTART
            sigaction(number, &action, nil)
            sigaddset(&signals, number)
        }
        // The process that started this one may have blocked them.
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }
}

/// Set by the handler. Global, because a signal handler can reach nothing else.
private let stopSignal = Atomic<Int32>(0)
