import CLinux
import Glibc

/// One asking of a check in a child process.
///
/// The process leads a group of its own in the folder `/`, with `/dev/null` on its standard
/// descriptors, nothing else open and no signal blocked or ignored.
struct CheckProcess: ~Copyable {
    /// The process and those that it started.
    let group: ProcessGroup
    /// A pidfd: readable when the process has ended.
    private let end: Descriptor
    /// What it writes on its standard output, where that is listened to.
    private let output: Descriptor

    /// Starts the process.
    ///
    /// - Parameters:
    ///   - words: The program's path and its arguments; not empty.
    ///   - environment: All that it finds in its environment.
    ///   - listens: Whether its standard output is a pipe, of which the end of the process leaves
    ///     the first bytes to `reap`. Nobody empties it before: a program that writes more than it
    ///     holds waits until it is killed.
    /// - Throws: `SystemError` when it cannot be started, or not be watched; then it is gone.
    init(
        _ words: [String], environment: [String: String], listens: Bool
    ) throws(SystemError) {
        let pipe = try Pipe(from: CheckProcess.firstFree)
        try pipe.readEnd.stopBlocking()
        guard clinux_keep_child_status() == 0 else { throw SystemError("keep exit statuses") }
        var start = try ProcessStart()
        try start.enter("/")
        try start.open("/dev/null", O_RDONLY, as: 0)
        if listens {
            try start.give(pipe.writeEnd.number, as: 1)
        } else {
            try start.open("/dev/null", O_WRONLY, as: 1)
        }
        try start.open("/dev/null", O_WRONLY, as: 2)
        try start.closeAll(from: CheckProcess.firstFree)
        let group = ProcessGroup(leader: try start.run(words, environment))
        let number = clinux_pidfd_open(group.leader)
        guard number >= 0 else {
            let error = SystemError("watch a process")
            group.killAll()
            waitpid(group.leader, nil, 0)
            throw error
        }
        self.group = group
        end = Descriptor(owning: number)
        output = pipe.readEnd
    }

    /// The descriptors from here on are none of the process's.
    private static let firstFree: Int32 = 3

    /// Waits for the end of the process; `false` when `limit` comes first.
    func hasEnded(before limit: SuspendingClock.Instant? = nil) -> Bool {
        end.isReadable(before: limit)
    }

    /// Takes the exit status and what was written, and ends those of the group that are left, which
    /// is waited for until `limit`. The process must have ended.
    consuming func reap(before limit: SuspendingClock.Instant) -> CheckEnd {
        var status: Int32 = 0
        while waitpid(group.leader, &status, 0) < 0, errno == EINTR {}
        let survivors = group.survivors()
        if survivors != [] { group.end(survivors, before: limit) }
        // Orphans come to us where we are process 1 or a subreaper; elsewhere there are none.
        while waitpid(-group.leader, nil, WNOHANG) > 0 {}
        switch ProcessEnd.Exit(waitStatus: status) {
        case .status(let status): return .exited(status: status, note: note())
        case .signal(let signal): return .killed(signal: signal)
        }
    }

    private func note() -> String {
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = read(output.number, &bytes, bytes.count)
        return CheckEnd.note(of: bytes.prefix(max(count, 0)))
    }
}
