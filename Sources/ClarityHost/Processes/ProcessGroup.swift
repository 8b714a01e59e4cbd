import CLinux
import Glibc
import Platform

/// A worker process and the processes that it started, as `/proc` shows them.
struct ProcessGroup {
    /// The id of the leader, which is also the group's id.
    let leader: pid_t

    /// The resident memory of the leader and its descendants.
    struct Memory {
        var residentBytes: Int64 = 0
        var processes = 0
    }

    /// Returns the sum of resident memory, in bytes; zero if the leader has ended.
    ///
    /// Memory that a process shares with its child counts twice; see `proportionalBytes()`.
    func memory() -> Memory {
        let pageSize = Int64(sysconf(Int32(_SC_PAGESIZE)))
        var memory = Memory()
        for process in family() {
            let fields = ProcessGroup.text("/proc/\(process)/statm").split(separator: " ")
            guard fields.count > 1, let pages = Int64(fields[1]), pages > 0 else { continue }
            memory.residentBytes += pages * pageSize
            memory.processes += 1
        }
        return memory
    }

    /// Returns the sum of resident memory in bytes, with shared pages divided among the processes
    /// that share them.
    ///
    /// The kernel walks every page for it, at about a millisecond per 100 MB.
    func proportionalBytes() -> Int64 {
        var kibibytes: Int64 = 0
        for process in family() {
            let lines = ProcessGroup.text("/proc/\(process)/smaps_rollup").split(separator: "\n")
            for line in lines where line.hasPrefix("Pss:") {
                kibibytes += line.split(separator: " ").dropFirst().first.flatMap { Int64($0) } ?? 0
            }
        }
        return kibibytes * 1024
    }

    /// Returns the processes of the group that still run, without those that only wait to be
    /// reaped; `nil` if there are some and `/proc` cannot be read.
    ///
    /// The leader must have been reaped.
    func survivors() -> [pid_t]? {
        // Try the cheap check first. It also counts processes that have ended: they stay forever in
        // a container whose first process reaps no orphans.
        guard kill(-leader, 0) == 0 || errno == EPERM else { return [] }
        return ProcessGroup.numbers(in: "/proc")?.filter { process in
            // The line is `pid (name) state parent group ...`, and the name may contain anything.
            let text = ProcessGroup.text("/proc/\(process)/stat")
            guard let name = text.lastIndex(of: ")") else { return false }
            let fields = text[name...].split(separator: " ")
            guard fields.count > 3, let group = pid_t(fields[3]) else { return false }
            return group == leader && !["Z", "X"].contains(fields[1])
        }
    }

    /// Kills survivors and waits until they have ended, at most until `limit` if there is one.
    ///
    /// They end at once, except for a process that waits for a device.
    func end(_ survivors: [pid_t]?, before limit: SuspendingClock.Instant? = nil) {
        kill(-leader, SIGKILL)
        for process in survivors ?? [] {
            let number = clinux_pidfd_open(process)
            // The process is gone, or there is no descriptor left to wait with.
            guard number >= 0 else { continue }
            _ = Descriptor(owning: number).isReadable(before: limit)
        }
    }

    /// Kills every process of the group; the leader must not have been reaped yet.
    func killAll() {
        kill(-leader, SIGKILL)
        // The leader may have moved to another group.
        kill(leader, SIGKILL)
    }

    /// Waits until the leader has ended and returns how.
    func reapLeader() -> ProcessEnd.Exit {
        var status: Int32 = 0
        while waitpid(leader, &status, 0) < 0, errno == EINTR {}
        return ProcessEnd.Exit(waitStatus: status)
    }

    /// Returns the leader and its descendants, and looks for no more once it has found 1,000.
    private func family() -> [pid_t] {
        var family = [leader]
        var next = 0
        while next < family.count, family.count < 1000 {
            let threads = "/proc/\(family[next])/task"
            for thread in ProcessGroup.numbers(in: threads) ?? [] {
                let children = ProcessGroup.text("\(threads)/\(thread)/children")
                family += children.split(separator: " ").compactMap { pid_t($0) }
            }
            next += 1
        }
        return family
    }

    private static func numbers(in path: String) -> [pid_t]? {
        WholeFile.readableNames(in: path)?.compactMap { pid_t($0) }
    }

    /// Returns the text of a file in `/proc`; empty if the process is gone or hidden from us.
    private static func text(_ path: String) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(file, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : ""
    }
}

/// A child process that leads a group of its own.
struct StartedProcess: ~Copyable {
    /// The process and the processes that it started.
    let group: ProcessGroup
    /// A pidfd, which is readable when the process has ended.
    let end: Descriptor

    /// Starts the process.
    ///
    /// - Parameter prepare: Says what the process inherits.
    /// - Throws: `SystemError` if the process cannot be started or watched. No process is left
    ///   then.
    init(
        _ words: [String], _ environment: [String: String],
        prepare: (inout ProcessStart) throws(SystemError) -> Void
    ) throws(SystemError) {
        guard clinux_keep_child_status() == 0 else { throw SystemError("keep exit statuses") }
        var start = try ProcessStart()
        try prepare(&start)
        let group = ProcessGroup(leader: try start.run(words, environment))
        let number = clinux_pidfd_open(group.leader)
        guard number >= 0 else {
            let error = SystemError("watch a process")
            group.killAll()
            _ = group.reapLeader()
            throw error
        }
        self.group = group
        end = Descriptor(owning: number)
    }
}
