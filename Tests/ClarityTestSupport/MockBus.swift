import CLinux
@preconcurrency import Glibc

/// A private message bus with mocked services, which ends with its owner.
///
/// It needs dbus-daemon and python-dbusmock; `isAvailable` says whether this machine has them. Only
/// one task at a time may use it.
public final class MockBus {
    /// A failure of a program that the bus needs, with its message.
    public struct Failure: Error, CustomStringConvertible {
        public var description: String
    }

    /// The address of the bus, such as `unix:path=/tmp/clarity-jobs-test.a1b2c3/bus`.
    public let address: String
    private let folder: TemporaryFolder
    private var daemon: ChildProgram
    private var hand: ChildProgram
    private var services: [Service: ChildProgram] = [:]

    /// Whether this machine has the programs that a bus needs. The first access also prints the
    /// answer to standard error, so that a log shows whether the tests that need a bus ran.
    public static let isAvailable: Bool = {
        let isAvailable =
            access(daemonPath, X_OK) == 0
            && runs(python, ["-c", "import dbusmock, gi, dbus.mainloop.glib"])
        let line =
            isAvailable
            ? "tests with mocked services on a private bus run"
            : "skipped: tests with mocked services on a private bus (\(need))"
        fputs("\(line)\n", stderr)
        return isAvailable
    }()

    /// What a bus needs, for the trait of tests that use one.
    public static let need = "needs dbus-daemon and python3-dbusmock (`scripts/setup test`)"

    private static let daemonPath = "/usr/bin/dbus-daemon"
    private static let python = "/usr/bin/python3"

    /// Starts a bus without services.
    public init() async throws {
        folder = try TemporaryFolder()
        address = "unix:path=\(folder.path)/bus"
        try folder.write("bus.conf", MockBus.configuration(address).utf8)
        daemon = try await MockBus.daemon(folder)
        hand = try MockBus.hand(address)
    }

    /// The variables that make a program use this bus instead of the system's.
    public var environment: [String: String] { ["DBUS_SYSTEM_BUS_ADDRESS": address] }

    // MARK: Services

    /// Starts services and waits until they answer.
    public func start(_ names: Service...) async throws {
        for name in names {
            services[name] = try ChildProgram(
                MockBus.python, ["-m", "dbusmock", "--logfile", "/dev/null"] + name.mock,
                environment: environment)
        }
        for name in names {
            try await tell("wait('\(name.rawValue)', True)")
            for (property, value) in name.extras {
                try await tell(
                    """
                    mock('\(name.rawValue)', '\(name.path)', 'AddProperty', 'ssv', \
                    '\(name.interface)', '\(property)', \(value.python))
                    """)
                // Adding a property announces nothing to those who already listen.
                try await set(name, property, value)
            }
        }
    }

    /// Ends a service and waits until its name is free.
    public func stop(_ name: Service) async throws {
        services[name] = nil
        try await tell("wait('\(name.rawValue)', False)")
    }

    /// Makes a service hang: it stays on the bus and does nothing (SIGSTOP).
    public func freeze(_ name: Service) { services[name]?.signal(SIGSTOP) }

    /// Resumes a service that hangs.
    public func thaw(_ name: Service) { services[name]?.signal(SIGCONT) }

    /// Makes the bus itself hang.
    public func freezeBus() { daemon.signal(SIGSTOP) }

    /// Resumes a bus that hangs.
    public func thawBus() { daemon.signal(SIGCONT) }

    /// Kills the bus and the services.
    public func kill() async {
        services = [:]
        daemon.signal(SIGKILL)
        _ = await daemon.finish()
    }

    /// Starts a killed bus again at the same address, without services.
    public func revive() async throws {
        daemon = try await MockBus.daemon(folder)
        hand = try MockBus.hand(address)
    }

    /// Runs a line of Python in the helper process of the bus.
    func tell(_ line: String) async throws {
        let hand = hand
        hand.writeLine(line)
        guard let answer = await hand.readLine() else {
            throw Failure(description: "\(line): \(await hand.finish().errors)")
        }
        guard answer == "done" else { throw Failure(description: "\(line): \(answer)") }
    }

    // MARK: Programs

    private static func daemon(_ folder: TemporaryFolder) async throws -> ChildProgram {
        let daemon = try ChildProgram(
            daemonPath,
            [
                "--config-file=\(folder.path)/bus.conf", "--nofork", "--nopidfile",
                "--print-address",
            ],
            environment: [:])
        guard await daemon.readLine() != nil else {
            throw Failure(description: await daemon.finish().errors)
        }
        return daemon
    }

    private static func hand(_ address: String) throws -> ChildProgram {
        try ChildProgram(python, ["-c", handProgram, address], environment: [:])
    }

    private static func runs(_ path: String, _ arguments: [String]) -> Bool {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        let words = ([path] + arguments).map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        var child: pid_t = 0
        guard posix_spawn(&child, path, &actions, nil, words, environ) == 0 else { return false }
        var status: Int32 = -1
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        return status == 0
    }
}
