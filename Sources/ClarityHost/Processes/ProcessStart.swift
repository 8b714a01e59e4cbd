import CLinux
import Platform
import ClarityScheduler
import Glibc

/// The setup of a child process before it runs its program.
///
/// The process starts in a group of its own, with no signal blocked or ignored. The setup handles
/// descriptors in the order of the calls; a descriptor that no call opens, passes on or closes is
/// inherited as it is.
struct ProcessStart: ~Copyable {
    /// The lowest number for the sources of the descriptors that a process gets. A lower one could
    /// be overwritten before it is copied.
    static let firstFree: Int32 = 7

    private var actions = posix_spawn_file_actions_t()

    /// Creates an empty setup.
    init() throws(SystemError) {
        try ProcessStart.check(posix_spawn_file_actions_init(&actions))
    }

    deinit {
        // The memory is behind a pointer in the value, so that freeing a copy frees it.
        var actions = actions
        posix_spawn_file_actions_destroy(&actions)
    }

    /// Opens a file as descriptor `number`.
    mutating func open(_ path: String, _ flags: Int32, as number: Int32) throws(SystemError) {
        try ProcessStart.check(
            posix_spawn_file_actions_addopen(&actions, number, path, flags, 0))
    }

    /// Opens `/dev/null` as the standard input and output, and passes this program's error stream on.
    mutating func openStandard() throws(SystemError) {
        try open("/dev/null", O_RDONLY, as: 0)
        try open("/dev/null", O_WRONLY, as: 1)
        // Otherwise the first file that the process opens would receive its error messages.
        if fcntl(2, F_GETFD) < 0 { try open("/dev/null", O_WRONLY, as: 2) }
    }

    /// Passes this process's descriptor `source` on as `number`. The two must differ, and no
    /// earlier call may have used `source` as a target.
    mutating func give(_ source: Int32, as number: Int32) throws(SystemError) {
        try ProcessStart.check(posix_spawn_file_actions_adddup2(&actions, source, number))
    }

    /// Closes every descriptor from `first` on.
    mutating func closeAll(from first: Int32) throws(SystemError) {
        try ProcessStart.check(clinux_spawn_close_from(&actions, first))
    }

    /// Sets the working directory.
    mutating func enter(_ folder: String) throws(SystemError) {
        try ProcessStart.check(clinux_spawn_change_folder(&actions, folder))
    }

    /// Starts the process and returns its id.
    ///
    /// - Parameters:
    ///   - words: the program's path, not searched for, and its arguments; not empty.
    ///   - environment: the process's whole environment.
    /// - Throws: `SystemError` with the error of `execve` if the program cannot be run.
    mutating func run(
        _ words: [String], _ environment: [String: String]
    ) throws(SystemError) -> pid_t {
        var attributes = posix_spawnattr_t()
        try ProcessStart.check(posix_spawnattr_init(&attributes))
        defer { posix_spawnattr_destroy(&attributes) }
        let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
        try ProcessStart.check(posix_spawnattr_setflags(&attributes, Int16(flags)))
        try ProcessStart.check(posix_spawnattr_setpgroup(&attributes, 0))
        var signals = sigset_t()
        sigemptyset(&signals)
        try ProcessStart.check(posix_spawnattr_setsigmask(&attributes, &signals))
        sigfillset(&signals)
        try ProcessStart.check(posix_spawnattr_setsigdefault(&attributes, &signals))

        let settings = environment.map { "\($0.key)=\($0.value)" }.sorted()
        var process: pid_t = 0
        let code = ProcessStart.withCStrings(words) { arguments in
            ProcessStart.withCStrings(settings) { environment in
                posix_spawn(&process, words[0], &actions, &attributes, arguments, environment)
            }
        }
        guard code == 0 else { throw SystemError("start `\(words[0])`", code: code) }
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

/// A file descriptor with one owner, which closes it.
struct Descriptor: ~Copyable, Sendable {
    let number: Int32

    init(owning number: Int32) {
        self.number = number
    }

    deinit {
        close(number)
    }

    /// Duplicates a descriptor under a number of at least `floor`, closed on exec.
    ///
    /// - Throws: `SystemError` if the process has no descriptor left.
    static func duplicate(_ number: Int32, from floor: Int32) throws(SystemError) -> Descriptor {
        let copy = fcntl(number, F_DUPFD_CLOEXEC, floor)
        guard copy >= 0 else { throw SystemError("duplicate a descriptor") }
        return Descriptor(owning: copy)
    }

    /// Returns this descriptor if its number is at least `floor`, and otherwise a duplicate that
    /// replaces it.
    consuming func raised(to floor: Int32) throws(SystemError) -> Descriptor {
        if number >= floor { return self }
        return try Descriptor.duplicate(number, from: floor)
    }

    /// Leaves the descriptor to the caller, who closes it.
    consuming func giveUp() -> Int32 {
        let number = number
        discard self
        return number
    }

    /// Makes reads and writes return at once with EAGAIN instead of waiting.
    func stopBlocking() throws(SystemError) {
        guard fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK) >= 0 else {
            throw SystemError("make a descriptor non-blocking")
        }
    }

    /// Waits until the descriptor is readable; a pidfd is readable when its process has ended.
    ///
    /// Returns `false` if `limit` passes first or poll(2) fails. Without a limit, waits as long as
    /// it takes.
    func isReadable(before limit: SuspendingClock.Instant? = nil) -> Bool {
        var set = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        while true {
            var wait: Int32 = -1
            if let limit {
                let left = limit - SuspendingClock.now
                // Round up, so that the wait never ends too early and spins.
                wait = left > .zero ? Int32(clamping: left.milliseconds + 1) : 0
            }
            let count = poll(&set, 1, wait)
            if count > 0 { return true }
            if count < 0, errno != EINTR { return false }
            if let limit, SuspendingClock.now >= limit { return false }
        }
    }
}

/// A pipe with both of its ends, closed on exec.
struct Pipe: ~Copyable {
    let readEnd: Descriptor
    let writeEnd: Descriptor

    /// Creates a pipe whose ends have numbers of at least `floor`.
    init(from floor: Int32) throws(SystemError) {
        var ends: [Int32] = [-1, -1]
        guard clinux_pipe(&ends) == 0 else { throw SystemError("make a pipe") }
        let lowReadEnd = Descriptor(owning: ends[0])
        let lowWriteEnd = Descriptor(owning: ends[1])
        let readEnd = try lowReadEnd.raised(to: floor)
        let writeEnd = try lowWriteEnd.raised(to: floor)
        self.readEnd = readEnd
        self.writeEnd = writeEnd
    }
}

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
