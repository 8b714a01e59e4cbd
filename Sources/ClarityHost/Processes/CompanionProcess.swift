import CLinux
import ClarityScheduler
import Platform
import Glibc

/// A short process of this package that does what a scheduler must not do itself.
public enum CompanionProcess {
    /// Runs a program and waits for its end. It shares this process's standard error, and has
    /// `/dev/null` as its input and output.
    ///
    /// - Parameters:
    ///   - words: the program's path and its arguments; not empty.
    ///   - limit: how long it may take before it is killed.
    /// - Returns: `nil` if it has ended, and has itself reported what went wrong; otherwise why it
    ///   could not, as a fragment.
    public static func run(
        _ words: [String], environment: [String: String], within limit: Duration
    ) -> String? {
        do throws(SystemError) {
            guard clinux_keep_child_status() == 0 else { throw SystemError("keep exit statuses") }
            var start = try ProcessStart()
            try start.open("/dev/null", O_RDONLY, as: 0)
            try start.open("/dev/null", O_WRONLY, as: 1)
            try start.closeAll(from: 3)
            let group = ProcessGroup(leader: try start.run(words, environment))
            let number = clinux_pidfd_open(group.leader)
            defer { while waitpid(group.leader, nil, 0) < 0, errno == EINTR {} }
            guard number >= 0 else {
                let error = SystemError("watch a process")
                group.killAll()
                throw error
            }
            let end = Descriptor(owning: number)
            if end.isReadable(before: SuspendingClock.now + limit) { return nil }
            group.killAll()
            return "killed after \(limit.text)"
        } catch {
            return "\(error)"
        }
    }
}
