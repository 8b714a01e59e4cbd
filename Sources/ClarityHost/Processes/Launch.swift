import CLinux
import Glibc

/// What a worker process is made from.
struct Launch: Sendable {
    /// The descriptors that a worker finds open: 0 and 1 on `/dev/null`, 2 inherited, then these.
    static let orderNumber: Int32 = 3
    static let reportNumber: Int32 = 4
    static let leaseLockNumber: Int32 = 5
    /// Sources of the above must lie from here on: one that lay among them would be overwritten
    /// before it is copied.
    static let firstFree: Int32 = 6

    /// The program's path and its arguments.
    var executable: [String]
    var environment: [String: String]
    /// The descriptor that the worker gets as number 5.
    var leaseLock: Int32?

    /// Starts the process in a group of its own, with no signal blocked or ignored and no other
    /// descriptor open, and returns its id.
    ///
    /// - Parameters:
    ///   - order: The read end of the order pipe, from `firstFree` on.
    ///   - report: The write end of the report pipe, from `firstFree` on.
    /// - Throws: `SystemError` with what `execve` said when the program cannot be run.
    func start(
        order: borrowing Descriptor, report: borrowing Descriptor
    ) throws(SystemError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        try Launch.check(posix_spawn_file_actions_init(&actions))
        defer { posix_spawn_file_actions_destroy(&actions) }
        let null = "/dev/null"
        try Launch.check(posix_spawn_file_actions_addopen(&actions, 0, null, O_RDONLY, 0))
        try Launch.check(posix_spawn_file_actions_addopen(&actions, 1, null, O_WRONLY, 0))
        if fcntl(2, F_GETFD) < 0 {
            // Else the first file that the worker opens would receive its error messages.
            try Launch.check(posix_spawn_file_actions_addopen(&actions, 2, null, O_WRONLY, 0))
        }
        try Launch.check(
            posix_spawn_file_actions_adddup2(&actions, order.number, Launch.orderNumber))
        try Launch.check(
            posix_spawn_file_actions_adddup2(&actions, report.number, Launch.reportNumber))
        guard let leaseLock else {
            try Launch.check(clinux_spawn_close_from(&actions, Launch.leaseLockNumber))
            return try spawn(&actions)
        }
        let lock = try Descriptor.duplicate(leaseLock, from: Launch.firstFree)
        try Launch.check(
            posix_spawn_file_actions_adddup2(&actions, lock.number, Launch.leaseLockNumber))
        try Launch.check(clinux_spawn_close_from(&actions, Launch.firstFree))
        return try spawn(&actions)
    }

    private func spawn(
        _ actions: inout posix_spawn_file_actions_t
    ) throws(SystemError) -> pid_t {
        var attributes = posix_spawnattr_t()
        try Launch.check(posix_spawnattr_init(&attributes))
        defer { posix_spawnattr_destroy(&attributes) }
        let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
        try Launch.check(posix_spawnattr_setflags(&attributes, Int16(flags)))
        try Launch.check(posix_spawnattr_setpgroup(&attributes, 0))
        var signals = sigset_t()
        sigemptyset(&signals)
        try Launch.check(posix_spawnattr_setsigmask(&attributes, &signals))
        sigfillset(&signals)
        try Launch.check(posix_spawnattr_setsigdefault(&attributes, &signals))

        let settings = environment.map { "\($0.key)=\($0.value)" }.sorted()
        var process: pid_t = 0
        let code = Launch.withCStrings(executable) { arguments in
            Launch.withCStrings(settings) { environment in
                posix_spawn(
                    &process, executable[0], &actions, &attributes, arguments, environment)
            }
        }
        guard code == 0 else { throw SystemError("start `\(executable[0])`", code: code) }
        return process
    }

    private static func check(_ code: Int32) throws(SystemError) {
        guard code == 0 else { throw SystemError("prepare a process", code: code) }
    }

    /// Calls `body` with a null-terminated array of C strings that lives as long as the call.
    private static func withCStrings<Result>(
        _ texts: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var pointers: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) }
        pointers.append(nil)
        defer { for pointer in pointers { free(pointer) } }
        return pointers.withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else {
                preconditionFailure("an array of \(buffer.count) pointers has no address")
            }
            return body(start)
        }
    }
}
