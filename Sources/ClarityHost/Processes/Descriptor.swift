import CLinux
import ClarityScheduler
import Platform
import Glibc

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
