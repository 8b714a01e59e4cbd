import Glibc

/// The parameters of a command's process.
struct CommandLaunch: Sendable {
    /// The first descriptor after 0 (`/dev/null`) and 1 and 2 (one pipe) that a command finds open.
    static let leaseLockNumber: Int32 = 3

    /// The program's path and its arguments.
    var words: [String]
    var folder: String
    var environment: [String: String]
    /// The descriptor that the command and its child processes inherit as number 3.
    var leaseLock: Int32?

    /// Starts the process in a group of its own, with no signal blocked or ignored and no other
    /// descriptor open, and returns its id.
    ///
    /// - Parameter output: the descriptor that it writes to, with a number of at least
    ///   `Launch.firstFree`.
    /// - Throws: `SystemError` with the error of `execve` if the program cannot be run.
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
