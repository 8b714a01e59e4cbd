import CLinux
import Glibc

/// What `/proc` shows of a worker process and those that it started.
struct ProcessGroup {
    /// The id of the leader, which is the group's.
    let leader: pid_t

    /// Resident memory of the leader and its descendants.
    struct Memory {
        var residentBytes: Int64 = 0
        var processes = 0
    }

    /// The sum of resident memory, in bytes; none when the leader has ended.
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

    /// The sum of resident memory in which shared pages are divided among those that share them;
    /// in bytes. Costs the kernel a walk over every page, a millisecond for each 100 MB.
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

    /// The processes of the group that still run; one that ended and waits to be reaped does not.
    /// `nil` when there are some and `/proc` cannot be read.
    ///
    /// The leader must have been reaped.
    func survivors() -> [pid_t]? {
        // The cheap question first, but it also counts processes that have ended. In a container
        // whose first process reaps nobody's children those stay for ever.
        guard kill(-leader, 0) == 0 || errno == EPERM else { return [] }
        return ProcessGroup.numbers(in: "/proc")?.filter { process in
            // `pid (name) state parent group ...`, where the name may hold anything.
            let text = ProcessGroup.text("/proc/\(process)/stat")
            guard let name = text.lastIndex(of: ")") else { return false }
            let fields = text[name...].split(separator: " ")
            guard fields.count > 3, let group = pid_t(fields[3]) else { return false }
            return group == leader && !["Z", "X"].contains(fields[1])
        }
    }

    /// Kills survivors and waits for their end, which comes at once but for a process that waits
    /// for a device; at most until `limit`, where one is given.
    func end(_ survivors: [pid_t]?, before limit: SuspendingClock.Instant? = nil) {
        kill(-leader, SIGKILL)
        for process in survivors ?? [] {
            let number = clinux_pidfd_open(process)
            // It is gone, or there is no descriptor left to wait with.
            guard number >= 0 else { continue }
            _ = Descriptor(owning: number).isReadable(before: limit)
        }
    }

    /// Kills every process of the group; the leader must not have been reaped.
    func killAll() {
        kill(-leader, SIGKILL)
        // The leader may have left for a group of its own.
        kill(leader, SIGKILL)
    }

    /// The leader and its descendants, at most 1,000.
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
        guard let folder = opendir(path) else { return nil }
        defer { closedir(folder) }
        var numbers: [pid_t] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { field in
                field.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if let number = pid_t(name) { numbers.append(number) }
        }
        return numbers
    }

    /// The text of a file below `/proc`; empty when the process is gone or not ours to see.
    private static func text(_ path: String) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(file, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : ""
    }
}
