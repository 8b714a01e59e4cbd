import CLinux
import ClarityScheduler
import Platform
import Glibc

/// One attempt in a child process, watched by the thread that calls `run`.
///
/// One thread does all the work: no state is shared, and it waits only in poll(2).
struct ProcessAttempt<Listener: AttemptListener>: ~Copyable {
    /// The interval at which memory is sampled.
    private static var memoryInterval: Duration { .milliseconds(200) }

    private let group: ProcessGroup
    /// A pidfd, readable when the leader has ended.
    private let leaderEnd: Descriptor
    private let orderPipe: Descriptor
    private let listenPipe: Descriptor
    private let memoryLimitBytes: Int64
    /// This process's own peak resident memory when the child was created, in bytes; see
    /// `peak(_:)`.
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
    ///   - text: the text to write to the process.
    ///   - memoryLimitBytes: as in `AttemptOrder`.
    ///   - listener: receives the output of the process.
    ///   - start: starts the process with the pipe end that it reads and the one that it writes.
    /// - Throws: `SystemError` if the process cannot be started or watched; it is then gone.
    init(
        _ text: [UInt8], memoryLimitBytes: Int64, _ listener: Listener,
        start: (
            _ reads: borrowing Descriptor, _ writes: borrowing Descriptor
        ) throws(SystemError) -> pid_t
    ) throws(SystemError) {
        let orders = try Pipe(from: ProcessStart.firstFree)
        let reports = try Pipe(from: ProcessStart.firstFree)
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

    /// Watches the process until it ends, and reaps it.
    consuming func run(_ requests: AttemptRequests, _ progress: ProgressHandler) -> AttemptEnd {
        watch(requests, progress)
        return finish(progress)
    }

    private mutating func watch(_ requests: AttemptRequests, _ progress: ProgressHandler) {
        let ready = Int16(POLLIN | POLLHUP | POLLERR)
        while true {
            // Leave out a finished pipe: poll(2) would report its end again and again.
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
            if ContinuousClock.now >= nextSample {
                sampleMemory()
                listener.look(progress: progress)
            }
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
            // The worker closed its end and reads no more. Its report shows what it makes of that.
            unsent = []
        }
    }

    /// Reads at most one buffer from the pipe, and returns whether there may be more.
    @discardableResult
    private mutating func listen(_ progress: ProgressHandler) -> Bool {
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
        // Sample now: the worker may be gone before the next sample is due.
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
        // A process that has just forked shares all memory with its child until either one writes.
        let measured = memory.processes > 1 ? group.proportionalBytes() : memory.residentBytes
        guard measured > memoryLimitBytes else { return }
        fault = .memoryLimitExceeded(limitBytes: memoryLimitBytes, measuredBytes: measured)
        killGroup()
    }

    private consuming func finish(_ progress: ProgressHandler) -> AttemptEnd {
        var status: Int32 = 0
        var usage = rusage()
        while wait4(group.leader, &status, 0, &usage) < 0, errno == EINTR {}
        var end = ProcessEnd(exit: ProcessEnd.Exit(waitStatus: status))
        // The number of the reaped leader is free now. But the kernel assigns numbers in sequence,
        // so it cannot come round again within the microseconds until here.
        let survivors = group.survivors()
        if survivors != [] {
            // Processes that we killed are only still dying. In both cases the attempt is not over
            // before they end: they may be in the middle of a write.
            end.leftProcesses = !wasKilled
            group.end(survivors)
        }
        // Orphans become our children if we are process 1 or a subreaper; otherwise there are none.
        while waitpid(-group.leader, nil, 0) > 0 {}
        // Do not read until the pipe's end: a process that left the group may hold it open and keep
        // writing. A pipe holds at most 1 MiB (pipe(7)).
        var looks = 0
        while looks < 32, isListening, listen(progress) { looks += 1 }
        if case .status = end.exit {
            listener.finish()
            if let text = listener.fault, fault == nil { fault = .malformedReport(text) }
        }
        listener.look(progress: progress)
        end.fault = fault
        var result = listener.end(of: end)
        result.peakMemoryBytes = peak(usage)
        return result
    }

    /// Returns the peak resident memory of the attempt, in bytes.
    ///
    /// The kernel's figure starts with that of the process that made this one, because the two share
    /// memory until the child runs its program. So it counts only if it exceeds ours. That of a fork
    /// of a `ForkServer`, which is smaller than this process, is its own.
    private func peak(_ usage: rusage) -> Int64 {
        let told = Int64(usage.ru_maxrss) * 1024
        return max(largestSampleBytes, told > ownPeakBytes ? told : 0)
    }

    private static func ownPeakBytes() -> Int64 {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        return Int64(usage.ru_maxrss) * 1024
    }

    /// Opens a pidfd of the process and sets the limits that the kernel enforces, before the
    /// process gets its order and with it any health data.
    private static func takeCharge(
        of process: pid_t, _ memoryLimitBytes: Int64
    ) throws(SystemError) -> Descriptor {
        let number = clinux_pidfd_open(process)
        guard number >= 0 else { throw SystemError("watch a process") }
        let end = Descriptor(owning: number)
        guard clinux_forbid_core_dump(process) == 0 else {
            throw SystemError("forbid core dumps")
        }
        // A backstop for memory that grows faster than it is sampled. It lies above the limit,
        // since it also counts memory that was requested and never used.
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

/// Receives the output of an attempt's process, and turns the process's end into the attempt's end.
///
/// `ProcessAttempt` watches workers and commands alike. Only the listener knows whether the output
/// is reports or any program's text.
protocol AttemptListener: Sendable {
    /// The reason to kill the process for its output; the output after it is not read.
    var fault: String? { get }
    /// Whether the process has reported the outcome of its work.
    var hasOutcome: Bool { get }

    /// Takes bytes as they arrive, split anywhere.
    mutating func read(
        _ bytes: ArraySlice<UInt8>, progress: (_ done: Int64, _ total: Int64) -> Void)

    /// Looks for what the process says elsewhere; called a few times a second, and once after its end.
    mutating func look(progress: (_ done: Int64, _ total: Int64) -> Void)

    /// Marks the end of the output after the process has exited by itself.
    mutating func finish()

    /// Returns the end of the attempt, without its peak memory.
    func end(of process: ProcessEnd) -> AttemptEnd
}

/// The end of a worker process, and the attempt's result that follows from it.
struct ProcessEnd: Hashable {
    /// How a process ended.
    enum Exit: Hashable {
        case status(Int32)
        case signal(Int32)

        /// Decodes the status that wait(2) returns for a process that has ended.
        init(waitStatus: Int32) {
            let signal = waitStatus & 0x7F
            self = signal == 0 ? .status((waitStatus >> 8) & 0xFF) : .signal(signal)
        }
    }

    var exit: Exit
    /// The outcome that the worker reported.
    var outcome: Outcome?
    /// The fault for which we killed it.
    var fault: AttemptFault?
    /// Whether a process of its group was still running after it had ended by itself.
    var leftProcesses = false

    /// The attempt's result.
    ///
    /// A fault for which we killed the worker comes first. A process left behind breaks the attempt
    /// even if it reported success. Such a process may still hold files, write to the store and
    /// send data while the job's next attempt runs, so the report was not yet true. Success also
    /// needs exit status 0, because a worker that fails while it exits may have lost its work. A
    /// reported failure, retry, snooze or need counts whatever follows it: it says more than a
    /// status.
    var result: AttemptEnd.Result {
        if let fault { return .broke(fault) }
        if leftProcesses, case .status = exit { return .broke(.leftProcessesBehind) }
        switch (outcome, exit) {
        case (.success, .status(0)): return .reported(.success)
        case (.retry(let after, let failure), _):
            return .reported(.retry(after: after, failure))
        case (.snooze(let after, let failure), _):
            return .reported(.snooze(after: after, failure))
        case (.awaits(let need, let failure), _): return .reported(.awaits(need, failure))
        case (.failure(let failure), _): return .reported(.failure(failure))
        case (_, .status(let status)): return .broke(.exitedWithoutReport(status: status))
        case (_, .signal(let signal)): return .broke(.killedBySignal(signal))
        }
    }
}
