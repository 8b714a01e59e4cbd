import CLinux
import ClarityScheduler
import Glibc

/// One attempt in a child process, watched by the thread that calls `run`.
///
/// One thread does all: no state is shared, and nothing waits but in poll(2).
struct ProcessAttempt<Listener: AttemptListener>: ~Copyable {
    typealias Progress = (_ done: Int64, _ total: Int64) -> Void

    /// How often memory is looked at.
    private static var memoryInterval: Duration { .milliseconds(200) }

    private let group: ProcessGroup
    /// A pidfd: readable when the leader has ended.
    private let leaderEnd: Descriptor
    private let orderPipe: Descriptor
    private let listenPipe: Descriptor
    private let memoryLimitBytes: Int64
    /// Our own largest resident memory when the child was made, in bytes; see `peak(_:)`.
    private let ownPeakBytes: Int64

    private var unsent: ArraySlice<UInt8>
    private var listener: Listener
    private var fault: AttemptFault?
    private var wasKilled = false
    private var hasSaidAll = false
    private var largestSampleBytes: Int64 = 0
    private var nextSample = ContinuousClock.now + ProcessAttempt.memoryInterval
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)

    /// Starts the process.
    ///
    /// - Parameters:
    ///   - text: what is written to the process.
    ///   - memoryLimitBytes: as in `AttemptOrder`.
    ///   - listener: takes what the process writes.
    ///   - start: starts it, with the end of a pipe that it reads and of one that it writes.
    /// - Throws: `SystemError` when it cannot be started, or not be watched; then it is gone.
    init(
        _ text: [UInt8], memoryLimitBytes: Int64, _ listener: Listener,
        start: (
            _ reads: borrowing Descriptor, _ writes: borrowing Descriptor
        ) throws(SystemError) -> pid_t
    ) throws(SystemError) {
        let orders = try Pipe(from: Launch.firstFree)
        let reports = try Pipe(from: Launch.firstFree)
        try orders.writeEnd.stopBlocking()
        try reports.readEnd.stopBlocking()
        guard clinux_keep_child_status() == 0 else { throw SystemError("keep exit statuses") }
        let group = ProcessGroup(leader: try start(orders.readEnd, reports.writeEnd))
        let leaderEnd: Descriptor
        do throws(SystemError) {
            leaderEnd = try ProcessAttempt.takeCharge(of: group.leader, memoryLimitBytes)
        } catch {
            group.killAll()
            waitpid(group.leader, nil, 0)
            throw error
        }
        self.group = group
        self.leaderEnd = leaderEnd
        orderPipe = orders.writeEnd
        listenPipe = reports.readEnd
        self.memoryLimitBytes = memoryLimitBytes
        self.listener = listener
        ownPeakBytes = ProcessAttempt.ownPeakBytes()
        unsent = text[...]
    }

    /// Watches the process to its end and reaps it.
    consuming func run(_ requests: AttemptRequests, _ progress: Progress) -> AttemptEnd {
        watch(requests, progress)
        return finish(progress)
    }

    private mutating func watch(_ requests: AttemptRequests, _ progress: Progress) {
        let ready = Int16(POLLIN | POLLHUP | POLLERR)
        while true {
            // A pipe that is done with is left out: its end would be announced without end.
            var set = [
                pollfd(fd: leaderEnd.number, events: Int16(POLLIN), revents: 0),
                pollfd(fd: requests.readiness, events: Int16(POLLIN), revents: 0),
                pollfd(
                    fd: isListening ? listenPipe.number : -1, events: Int16(POLLIN), revents: 0),
                pollfd(
                    fd: unsent.isEmpty ? -1 : orderPipe.number, events: Int16(POLLOUT), revents: 0),
            ]
            poll(&set, UInt(set.count), untilNextSample())
            if set[0].revents & ready != 0 { return }
            if set[1].revents & ready != 0 { obey(requests.take()) }
            if set[2].revents & ready != 0 { listen(progress) }
            if set[3].revents != 0 { sendOrder() }
            if ContinuousClock.now >= nextSample { sampleMemory() }
        }
    }

    private var isListening: Bool { !hasSaidAll && listener.fault == nil }

    private func untilNextSample() -> Int32 {
        let span = nextSample - ContinuousClock.now
        return Int32(clamping: max(0, span.milliseconds + 1))
    }

    private mutating func obey(_ signal: AttemptSignal?) {
        switch signal {
        case .warn: kill(group.leader, SIGTERM)
        case .kill: killGroup()
        case nil: break
        }
    }

    private mutating func killGroup() {
        wasKilled = true
        group.killAll()
    }

    /// Writes as much of the order as the pipe takes.
    private mutating func sendOrder() {
        let count = unsent.withUnsafeBytes { write(orderPipe.number, $0.baseAddress, $0.count) }
        if count >= 0 {
            unsent = unsent.dropFirst(count)
        } else if errno != EAGAIN, errno != EINTR {
            // The worker closed its end: it wants no more. What it makes of that is its report.
            unsent = []
        }
    }

    /// Reads what the pipe holds, up to one buffer; whether there may be more.
    @discardableResult
    private mutating func listen(_ progress: Progress) -> Bool {
        let count = read(listenPipe.number, &buffer, buffer.count)
        if count < 0 { return errno == EINTR }
        guard count > 0 else {
            hasSaidAll = true
            return false
        }
        let hadOutcome = listener.hasOutcome
        listener.read(buffer[..<count], progress: progress)
        if let text = listener.fault, fault == nil {
            fault = .malformedReport(text)
            killGroup()
        }
        // The last look at a worker that may be gone before the next one is due.
        if !hadOutcome, listener.hasOutcome { sampleMemory() }
        return listener.fault == nil
    }

    private mutating func sampleMemory() {
        nextSample = ContinuousClock.now + ProcessAttempt.memoryInterval
        let memory = group.memory()
        largestSampleBytes = max(largestSampleBytes, memory.residentBytes)
        guard memoryLimitBytes > 0, memory.residentBytes > memoryLimitBytes, fault == nil else {
            return
        }
        // A process that has just forked shares all with its child until either writes.
        let measured = memory.processes > 1 ? group.proportionalBytes() : memory.residentBytes
        guard measured > memoryLimitBytes else { return }
        fault = .memoryLimitExceeded(limitBytes: memoryLimitBytes, measuredBytes: measured)
        killGroup()
    }

    private consuming func finish(_ progress: Progress) -> AttemptEnd {
        var status: Int32 = 0
        var usage = rusage()
        while wait4(group.leader, &status, 0, &usage) < 0, errno == EINTR {}
        var end = ProcessEnd(exit: ProcessEnd.Exit(waitStatus: status))
        // After the leader is reaped its number is free, but the kernel gives numbers out in turn:
        // it cannot come round within the microseconds until here.
        let survivors = group.survivors()
        if survivors != [] {
            // What we killed is merely still dying. Either way the attempt is not over before
            // them: they may be in the middle of a write.
            end.leftProcesses = !wasKilled
            group.end(survivors)
        }
        // Orphans come to us where we are process 1 or a subreaper; elsewhere there are none.
        while waitpid(-group.leader, nil, 0) > 0 {}
        // Not until the pipe's end, which somebody who left the group may hold open and fill: a pipe
        // holds at most 1 MiB (pipe(7)).
        var looks = 0
        while looks < 32, isListening, listen(progress) { looks += 1 }
        if case .status = end.exit {
            listener.finish()
            if let text = listener.fault, fault == nil { fault = .malformedReport(text) }
        }
        end.fault = fault
        var result = listener.end(of: end)
        result.peakMemoryBytes = peak(usage)
        return result
    }

    /// The largest resident memory of the attempt, in bytes.
    ///
    /// The kernel's own figure starts with that of the process which made the child, for the two
    /// share memory until the child runs its program. So it counts only above ours.
    private func peak(_ usage: rusage) -> Int64 {
        let told = Int64(usage.ru_maxrss) * 1024
        return max(largestSampleBytes, told > ownPeakBytes ? told : 0)
    }

    private static func ownPeakBytes() -> Int64 {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        return Int64(usage.ru_maxrss) * 1024
    }

    /// Returns a pidfd of a process that has been given the limits that the kernel keeps: before
    /// it has the order, and so any health data.
    private static func takeCharge(
        of process: pid_t, _ memoryLimitBytes: Int64
    ) throws(SystemError) -> Descriptor {
        let number = clinux_pidfd_open(process)
        guard number >= 0 else { throw SystemError("watch a process") }
        let end = Descriptor(owning: number)
        guard clinux_forbid_core_dump(process) == 0 else {
            throw SystemError("forbid core dumps")
        }
        // A backstop for what grows faster than it is looked at; above the limit, since it counts
        // memory that was asked for and never used.
        let (double, overflow) = memoryLimitBytes.multipliedReportingOverflow(by: 2)
        let allowance: Int64 = 256 << 20
        if memoryLimitBytes > 0, !overflow, double < Int64.max - allowance,
            clinux_limit_data(process, UInt64(double + allowance)) < 0
        {
            throw SystemError("limit memory")
        }
        return end
    }
}
