public import ClarityScheduler
public import Platform
import Glibc
import Synchronization
import CLinux

/// Runs each attempt as a child process.
///
/// The process leads a group of its own. It finds `/dev/null` on descriptors 0 and 1, this
/// program's error stream on 2, its order on 3, the pipe for its reports on 4, and the lock of the
/// attempt on 5. No other descriptor is open, no signal is blocked or ignored, and the environment is
/// exactly the one given. It leaves no core dump. The order's descriptor stays open until the
/// attempt has ended; if it closes earlier, this program is gone.
///
/// - `warn` sends SIGTERM to the process. `kill` and the task's cancellation send SIGKILL to its
///   group. The worker does not watch the deadline, which arrives as a signal.
/// - The resident memory of the process and its descendants is sampled five times a second. If it
///   exceeds the order's limit, the group is killed. The kernel limits the memory that the process
///   requests to twice the limit plus 256 MiB. A limit of 0 or less means no limit.
/// - The group is killed for a line that is not a report, a line of more than
///   `AttemptReport.longestLine` bytes, a line after the outcome, more than 1,000 counts, 100
///   different facts or 16 different events, or more than 16 MiB in total.
/// - Processes of the group that still run when the process has ended are killed, and break the
///   attempt. A process that has left the group is not found.
/// - `run` returns when the process has been reaped and every descriptor is closed.
public struct ProcessWorker: Worker {
    private let executable: [String]
    private let environment: Environment
    private let proof: AttemptProof?
    private let forks: ForkServer?

    /// Returns the whole environment of the process for an order, or why it may not start.
    public typealias Environment =
        @Sendable (AttemptOrder) throws(Failure) -> [String: String]

    /// Creates a worker with one environment for all its processes.
    public init(executable: [String], environment: [String: String], proof: AttemptProof?) {
        self.init(executable: executable, environment: { _ in environment }, proof: proof)
    }

    /// Creates a worker.
    ///
    /// - Parameters:
    ///   - executable: the program's path, not searched for, and its arguments; not empty.
    ///   - environment: the process's whole environment.
    ///   - proof: where the process gets the lock of its attempt; `nil` if it has none.
    ///   - forks: starts the same program while there are many attempts; `nil` for a start of the
    ///     program for each.
    public init(
        executable: [String], environment: @escaping Environment, proof: AttemptProof?,
        forks: ForkServer? = nil
    ) {
        precondition(!executable.isEmpty, "a worker needs a program, got \(executable)")
        self.executable = executable
        self.environment = environment
        self.proof = proof
        self.forks = forks
    }

    public func run(
        _ order: AttemptOrder, signals: AsyncStream<AttemptSignal>,
        progress: @escaping ProgressHandler
    ) async -> AttemptEnd {
        let settings: [String: String]
        do throws(Failure) {
            settings = try environment(order)
        } catch {
            return AttemptEnd(.reported(.failure(error)))
        }
        let text = Array(order.lines.map { $0 + "\n" }.joined().utf8)
        do throws(SystemError) {
            return try await ProcessAttempt.run(
                text, memoryLimitBytes: order.memoryLimitBytes, ReportReader(), signals, progress
            ) { reads, writes throws(SystemError) in
                try start(order, settings, reads: reads, report: writes)
            }
        } catch {
            return AttemptEnd(.broke(.notStarted("\(error)")))
        }
    }

    private func start(
        _ order: AttemptOrder, _ environment: [String: String], reads: borrowing Descriptor,
        report: borrowing Descriptor
    ) throws(SystemError) -> pid_t {
        guard let proof else {
            return try start(with: [reads.number, report.number], environment)
        }
        let lock = try proof.take(order).raised(to: ProcessStart.firstFree)
        return try start(with: [reads.number, report.number, lock.number], environment)
    }

    /// Starts a process that gets these descriptors from 3 on.
    private func start(
        with descriptors: [Int32], _ environment: [String: String]
    ) throws(SystemError) -> pid_t {
        if let fork = try forks?.start(environment, descriptors) { return fork }
        var start = try ProcessStart()
        try start.openStandard()
        for (index, descriptor) in descriptors.enumerated() {
            try start.give(descriptor, as: 3 + Int32(index))
        }
        try start.closeAll(from: 3 + Int32(descriptors.count))
        return try start.run(executable, environment)
    }
}

/// Gives the attempts of some kinds to workers of their own.
public final class WorkerByKind: Worker {
    private let kinds: [JobKind: any Worker]
    private let others: any Worker
    private let running = Mutex(0)
    private let attempts: @Sendable (_ running: Int) -> Void

    /// Creates a worker that dispatches to others.
    ///
    /// - Parameters:
    ///   - kinds: the workers of these kinds.
    ///   - others: the worker of all other kinds.
    ///   - attempts: called with the number of running attempts whenever it changes; must not
    ///     block.
    public init(
        _ kinds: [JobKind: any Worker], others: any Worker,
        attempts: @escaping @Sendable (_ running: Int) -> Void = { _ in }
    ) {
        self.kinds = kinds
        self.others = others
        self.attempts = attempts
    }

    public func run(
        _ order: AttemptOrder, signals: AsyncStream<AttemptSignal>,
        progress: @escaping ProgressHandler
    ) async -> AttemptEnd {
        change(by: 1)
        defer { change(by: -1) }
        return await (kinds[order.kind] ?? others).run(
            order, signals: signals, progress: progress)
    }

    private func change(by difference: Int) {
        // Call under the lock, so that the last number reported is the last one counted.
        running.withLock { running in
            running += difference
            attempts(running)
        }
    }
}

/// What the process of an attempt holds, so that nobody takes its run over before it has ended.
public struct AttemptProof: Sendable {
    /// Makes and takes the lock of an attempt, and returns the locked file, which is closed after the
    /// process has inherited it.
    public var lock: @Sendable (AttemptOrder) throws(StateDirectoryError) -> Int32
    /// The scheduler's session with the server that has its leases, and the memory that says until
    /// when they are certain; `nil` if only locks say so.
    public var session: (socket: Int32, span: Int32)?

    /// Creates a proof.
    public init(
        lock: @escaping @Sendable (AttemptOrder) throws(StateDirectoryError) -> Int32,
        session: (socket: Int32, span: Int32)? = nil
    ) {
        (self.lock, self.session) = (lock, session)
    }

    /// Returns the lock of an attempt.
    func take(_ order: AttemptOrder) throws(SystemError) -> Descriptor {
        do throws(StateDirectoryError) {
            return Descriptor(owning: try lock(order))
        } catch {
            throw SystemError("lock the attempt (\(error))", code: EIO)
        }
    }
}

extension ProcessAttempt {
    /// Starts a process, watches it on a thread of its own, passes signals on to it, and returns
    /// when it has been reaped; cancelling the task kills it. A task that is cancelled already
    /// starts none.
    ///
    /// The parameters are those of `init`.
    ///
    /// - Throws: `SystemError` if the process cannot be started or watched.
    static func run(
        _ text: [UInt8], memoryLimitBytes: Int64, _ listener: Listener,
        _ signals: AsyncStream<AttemptSignal>, _ progress: @escaping ProgressHandler,
        start:
            @escaping @Sendable (
                _ reads: borrowing Descriptor, _ writes: borrowing Descriptor
            ) throws(SystemError) -> pid_t
    ) async throws(SystemError) -> AttemptEnd {
        guard !Task.isCancelled else {
            return AttemptEnd(.broke(.notStarted("cancelled before it started")))
        }
        let requests = try AttemptRequests()
        defer { requests.end() }
        return try await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await signal in signals { requests.send(signal) }
                }
                defer { group.cancelAll() }
                do throws(SystemError) {
                    return try await AttemptThread.run {
                        do throws(SystemError) {
                            let attempt = try ProcessAttempt(
                                text, memoryLimitBytes: memoryLimitBytes, listener, start: start)
                            return Result<AttemptEnd, SystemError>.success(
                                attempt.run(requests, progress))
                        } catch {
                            return .failure(error)
                        }
                    }
                } catch {
                    return .failure(error)
                }
            }
        } onCancel: {
            requests.send(.kill)
        }.get()
    }
}

/// Carries requests from tasks to the thread that watches an attempt.
///
/// Counts requests instead of queueing them: a second warning adds nothing to the first.
final class AttemptRequests: Sendable {
    private static let warnUnit: UInt64 = 1
    private static let killUnit: UInt64 = 1 << 32

    /// An eventfd(2), or -1 once closed. The lock keeps a task from writing to a number that has
    /// meanwhile been reused for another file.
    private let event: Mutex<Int32>

    init() throws(SystemError) {
        let number = clinux_eventfd()
        guard number >= 0 else { throw SystemError("make an event descriptor") }
        event = Mutex(number)
    }

    deinit { end() }

    /// The descriptor, readable while a request is pending; valid until `end()`.
    var readiness: Int32 { event.withLock { $0 } }

    /// Sends a request; does nothing after `end()`.
    func send(_ signal: AttemptSignal) {
        var unit: UInt64 =
            switch signal {
            case .warn: AttemptRequests.warnUnit
            case .kill: AttemptRequests.killUnit
            }
        event.withLock { number in
            // This fails only if the counter is full, and then the request is already pending.
            if number >= 0 { _ = write(number, &unit, MemoryLayout<UInt64>.size) }
        }
    }

    /// Takes the pending requests: `kill` if both are pending, `nil` if none is.
    func take() -> AttemptSignal? {
        var count: UInt64 = 0
        let size = event.withLock { read($0, &count, MemoryLayout<UInt64>.size) }
        guard size == MemoryLayout<UInt64>.size else { return nil }
        return count >= AttemptRequests.killUnit ? .kill : .warn
    }

    /// Closes the descriptor, once the thread no longer uses it.
    func end() {
        event.withLock { number in
            if number >= 0 { close(number) }
            number = -1
        }
    }
}

/// Runs blocking work on a thread of its own, so that it does not block a thread of Swift's pool,
/// which has one per processor.
enum AttemptThread {
    /// Calls `body` on a new thread, and returns its result.
    ///
    /// The thread receives no signals; a write to a pipe without a reader fails with EPIPE.
    ///
    /// - Throws: `SystemError` if the system cannot create a thread; `body` is then not called.
    static func run<Result: Sendable>(
        _ body: @escaping @Sendable () -> Result
    ) async throws(SystemError) -> Result {
        let outcome: Swift.Result<Result, SystemError> = await withCheckedContinuation {
            continuation in
            let code = DetachedThread.start { continuation.resume(returning: .success(body())) }
            if code != 0 {
                continuation.resume(returning: .failure(SystemError("start a thread", code: code)))
            }
        }
        return try outcome.get()
    }
}
