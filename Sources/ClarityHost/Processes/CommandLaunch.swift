import Glibc

/// What the process of a command is made from.
struct CommandLaunch: Sendable {
    /// The descriptors that a command finds open: `/dev/null` on 0, one pipe on 1 and 2, then this.
    static let leaseLockNumber: Int32 = 3

    /// The program's path and its arguments.
    var words: [String]
    var folder: String
    var environment: [String: String]
    /// The descriptor that the command and those that it starts inherit as number 3.
    var leaseLock: Int32?

    /// Starts the process in a group of its own, with no signal blocked or ignored and no other
    /// descriptor open, and returns its id.
    ///
    /// - Parameter output: where it writes, from `Launch.firstFree` on.
    /// - Throws: `SystemError` with what `execve` said when the program cannot be run.
    func start(output: borrowing Descriptor) throws(SystemError) -> pid_t {
        var start = try ProcessStart()
        try start.enter(folder)
        try start.open("/dev/null", O_RDONLY, as: 0)
        try start.give(output.number, as: 1)
        try start.give(output.number, as: 2)
        guard let leaseLock else {
            try start.closeAll(from: CommandLaunch.leaseLockNumber)
            return try start.run(words, environment)
        }
        let lock = try Descriptor.duplicate(leaseLock, from: Launch.firstFree)
        try start.give(lock.number, as: CommandLaunch.leaseLockNumber)
        try start.closeAll(from: CommandLaunch.leaseLockNumber + 1)
        return try start.run(words, environment)
    }
}
