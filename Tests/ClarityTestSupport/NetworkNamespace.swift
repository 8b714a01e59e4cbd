import CLinux
@preconcurrency import Glibc
import Synchronization

/// A private network: a network namespace with an interface `eth0` that is up and has an address,
/// and a second namespace, the street, which answers at the other end of its cable.
///
/// It has no default route until a test adds one. Both namespaces end with their owner. The next
/// test run removes those of a test run that was killed.
public final class NetworkNamespace: Sendable {
    /// The reason why this machine cannot create such a network, or `nil` if it can. The first
    /// access also prints the answer to standard error, so that a log shows whether the tests that
    /// need a network ran.
    public static let missing: String? = {
        let fault = trial()
        let line =
            fault.map { "skipped: tests in network namespaces (\($0))" }
            ?? "tests in network namespaces run"
        fputs(line + "\n", stderr)
        return fault
    }()

    /// Whether this machine permits such a network.
    public static var isPermitted: Bool { missing == nil }

    /// The names of both namespaces in `ip netns`.
    public let name: String
    public let street: String

    /// The addresses of both ends, in networks of 24 and 64 bits.
    public static let address = "10.77.0.2"
    public static let streetAddress = "10.77.0.1"
    public static let addressIPv6 = "fd77::2"
    public static let streetAddressIPv6 = "fd77::1"

    /// Creates both namespaces and joins them by a cable. Blocks for about 50 ms.
    public init() throws {
        let number = NetworkNamespace.count.add(1, ordering: .relaxed).newValue
        name = "\(NetworkNamespace.prefix)\(getpid())-\(number)"
        street = name + "-street"
        // Starts few programs: until each of them has begun, it holds whatever the other tests have
        // open.
        try NetworkNamespace.ip([
            "netns add \(name)", "netns add \(street)",
            "link add eth0 netns \(name) type veth peer name eth0 netns \(street)",
        ])
        let ends = [
            (name, NetworkNamespace.address, NetworkNamespace.addressIPv6),
            (street, NetworkNamespace.streetAddress, NetworkNamespace.streetAddressIPv6),
        ]
        for (end, address, addressIPv6) in ends {
            try NetworkNamespace.ip(
                [
                    "link set lo up", "address add \(address)/24 dev eth0",
                    "address add \(addressIPv6)/64 dev eth0 nodad", "link set eth0 up",
                ], in: end)
        }
    }

    deinit { NetworkNamespace.remove([name, street]) }

    // MARK: Use

    /// Runs ip(8) in the namespace, with words such as `route add default via 10.77.0.1`. Blocks
    /// until it is done.
    public func ip(_ words: String) throws { try NetworkNamespace.ip([words], in: name) }

    /// Adds a default route through the street.
    public func connect() throws {
        try ip("route add default via \(NetworkNamespace.streetAddress)")
    }

    /// Removes the default route.
    public func disconnect() throws { try ip("route del default") }

    /// Pulls the cable: the interface stays up and loses its carrier.
    public func unplug() throws { try NetworkNamespace.ip(["link set eth0 down"], in: street) }

    /// Plugs the cable in again.
    public func plugIn() throws { try NetworkNamespace.ip(["link set eth0 up"], in: street) }

    /// Returns the program and the arguments with which `ChildProgram` runs a program in the
    /// namespace. sysfs shows that program the interfaces of its namespace.
    public func command(
        _ program: String, _ arguments: [String] = []
    ) -> (program: String, arguments: [String]) {
        NetworkNamespace.command(in: name, program, arguments)
    }

    /// Returns the same for the street, where a server can listen at `streetAddress`.
    public func streetCommand(
        _ program: String, _ arguments: [String] = []
    ) -> (program: String, arguments: [String]) {
        NetworkNamespace.command(in: street, program, arguments)
    }

    /// Runs `body` on a thread of its own that enters the namespace and ends with `body`. Sockets
    /// that are created there belong to the namespace for ever.
    public func enter<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        let path = "\(NetworkNamespace.folder)/\(name)"
        return try await withCheckedThrowingContinuation { continuation in
            let work = Work {
                let descriptor = open(path, O_RDONLY | O_CLOEXEC)
                defer { close(descriptor) }
                guard descriptor >= 0, clinux_enter_network(descriptor) == 0 else {
                    continuation.resume(throwing: TemporaryFolder.Errno(code: errno))
                    return
                }
                continuation.resume(with: Swift.Result { try body() })
            }
            // Not a thread of a queue, which would run other work afterwards.
            var thread = pthread_t()
            let retained = Unmanaged.passRetained(work)
            let code = pthread_create(
                &thread, nil,
                { argument in
                    pthread_detach(pthread_self())
                    if let argument {
                        Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body()
                    }
                    return nil
                }, retained.toOpaque())
            if code != 0 {
                retained.release()
                continuation.resume(throwing: TemporaryFolder.Errno(code: code))
            }
        }
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    // MARK: Setup

    /// A failed run of ip(8).
    public struct Failure: Error, CustomStringConvertible {
        public var description: String
    }

    private static let count = Atomic(0)
    private static let prefix = "clarity-test-"
    private static let folder = "/run/netns"
    private static let tool: String? = {
        let places: [String] = ["/sbin/ip", "/usr/sbin/ip", "/bin/ip", "/usr/bin/ip"]
        return places.first { path in access(path, X_OK) == 0 }
    }()

    private static func command(
        in namespace: String, _ program: String, _ arguments: [String]
    ) -> (program: String, arguments: [String]) {
        (tool ?? "ip", ["netns", "exec", namespace, program] + arguments)
    }

    /// Returns why a namespace with a cable cannot be created, or `nil` if it can.
    private static func trial() -> String? {
        guard tool != nil else { return "no program `ip`" }
        guard geteuid() == 0 else { return "not run by root" }
        removeLeftovers()
        do {
            _ = try NetworkNamespace()
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// Removes the namespaces of test runs that have ended.
    private static func removeLeftovers() {
        guard let listing = opendir(folder) else { return }
        defer { closedir(listing) }
        var leftovers: [String] = []
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name.hasPrefix(prefix),
                let owner = pid_t(name.dropFirst(prefix.count).prefix { $0 != "-" }),
                kill(owner, 0) != 0, errno == ESRCH
            else { continue }
            leftovers.append(name)
        }
        remove(leftovers)
    }

    private static func remove(_ names: [String]) {
        do {
            try ip(names.map { "netns del \($0)" })
        } catch {
            fputs("leftover network namespace: \(error)\n", stderr)
        }
    }

    /// Runs ip(8) with these lines, up to the first one that fails.
    private static func ip(_ lines: [String], in namespace: String? = nil) throws {
        guard let tool else { throw Failure(description: "no program `ip`") }
        var input: [Int32] = [-1, -1]
        var errors: [Int32] = [-1, -1]
        guard clinux_pipe(&input) == 0, clinux_pipe(&errors) == 0 else {
            throw TemporaryFolder.Errno(code: errno)
        }
        defer { close(errors[0]) }
        // The text fits into the pipe, so this does not block.
        let text = Array(lines.map { "\($0)\n" }.joined().utf8)
        let written = write(input[1], text, text.count)
        close(input[1])
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input[0], 0)
        posix_spawn_file_actions_adddup2(&actions, errors[1], 2)
        clinux_spawn_close_from(&actions, 3)
        let words = [tool] + (namespace.map { ["-n", $0] } ?? []) + ["-batch", "-"]
        let arguments = words.map { strdup($0) } + [nil]
        defer { arguments.forEach { free($0) } }
        var child: pid_t = 0
        let code = posix_spawn(&child, tool, &actions, nil, arguments, [nil])
        [input[0], errors[1]].forEach { close($0) }
        guard code == 0 else { throw TemporaryFolder.Errno(code: code) }
        var answer: [UInt8] = []
        var byte: UInt8 = 0
        while read(errors[0], &byte, 1) == 1 { answer.append(byte) }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        guard status == 0, written == text.count else {
            let reason = String(decoding: answer, as: UTF8.self).split(separator: "\n").first ?? ""
            throw Failure(description: "ip \(lines.joined(separator: "; ")): \(reason)")
        }
    }
}
