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
