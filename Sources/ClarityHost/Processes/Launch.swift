import Glibc

/// The parameters of a worker process.
struct Launch: Sendable {
    /// The descriptors that a worker finds open after 0 and 1 (`/dev/null`) and 2 (inherited).
    static let orderNumber: Int32 = 3
    static let reportNumber: Int32 = 4
    static let leaseLockNumber: Int32 = 5
    /// The lowest number for the sources of the descriptors above. A lower one would be overwritten
    /// before it is copied.
    static let firstFree: Int32 = 6

    /// The program's path and its arguments.
    var executable: [String]
    var environment: [String: String]
    /// The descriptor that the worker inherits as number 5.
    var leaseLock: Int32?

    /// Starts the process in a group of its own, with no signal blocked or ignored and no other
    /// descriptor open, and returns its id.
    ///
    /// - Parameters:
    ///   - order: the read end of the order pipe, with a number of at least `firstFree`.
    ///   - report: the write end of the report pipe, with a number of at least `firstFree`.
    /// - Throws: `SystemError` with the error of `execve` if the program cannot be run.
    func start(
        order: borrowing Descriptor, report: borrowing Descriptor
    ) throws(SystemError) -> pid_t {
        var start = try ProcessStart()
        try start.open("/dev/null", O_RDONLY, as: 0)
        try start.open("/dev/null", O_WRONLY, as: 1)
        if fcntl(2, F_GETFD) < 0 {
            // Otherwise the first file that the worker opens would receive its error messages.
            try start.open("/dev/null", O_WRONLY, as: 2)
        }
        try start.give(order.number, as: Launch.orderNumber)
        try start.give(report.number, as: Launch.reportNumber)
        guard let leaseLock else {
            try start.closeAll(from: Launch.leaseLockNumber)
            return try start.run(executable, environment)
        }
        let lock = try Descriptor.duplicate(leaseLock, from: Launch.firstFree)
        try start.give(lock.number, as: Launch.leaseLockNumber)
        try start.closeAll(from: Launch.firstFree)
        return try start.run(executable, environment)
    }
}
