import CLinux
import Platform
import Glibc

/// A child process that answers a check once.
///
/// The process leads a group of its own in the folder `/`, with `/dev/null` on its standard
/// descriptors (except an output that is read), no other descriptor open, and no signal blocked or
/// ignored.
struct CheckProcess: ~Copyable {
    /// The process and the processes that it started.
    let group: ProcessGroup
    /// A pidfd, which is readable when the process has ended.
    private let end: Descriptor
    /// The read end of the pipe for the standard output.
    private let output: Descriptor

    /// Starts the process.
    ///
    /// - Parameters:
    ///   - words: The program's path and its arguments; not empty.
    ///   - environment: The complete environment of the process.
    ///   - listens: Whether the standard output is a pipe, whose first bytes `reap` reads after the
    ///     process has ended. Nobody reads the pipe earlier: a program that writes more than it
    ///     holds blocks until it is killed.
    /// - Throws: `SystemError` if the process cannot be started or watched. No process is left
    ///   then.
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

    /// The process inherits no descriptor from this number on.
    private static let firstFree: Int32 = 3

    /// Waits for the end of the process; returns `false` if `limit` comes first.
    func hasEnded(before limit: SuspendingClock.Instant? = nil) -> Bool {
        end.isReadable(before: limit)
    }

    /// Reaps the process and returns its exit status and output. Kills the remaining processes of
    /// the group and waits for them until `limit`. The process must have ended.
    consuming func reap(before limit: SuspendingClock.Instant) -> CheckEnd {
        var status: Int32 = 0
        while waitpid(group.leader, &status, 0) < 0, errno == EINTR {}
        let survivors = group.survivors()
        if survivors != [] { group.end(survivors, before: limit) }
        // Orphans become children of this process if it is process 1 or a subreaper. Otherwise
        // there are none.
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
