public import ClarityScheduler
import Glibc
import Synchronization

/// Runs each attempt as a child process.
///
/// The process leads a group of its own. It finds `/dev/null` on descriptors 0 and 1, this
/// program's error stream on 2, its order on 3, the pipe for its reports on 4, and the lease lock
/// on 5. No other descriptor is open, no signal is blocked or ignored, and the environment is
/// exactly the one given. It leaves no core dump. The order's descriptor stays open until the
/// attempt has ended; if it closes earlier, this program is gone.
///
/// - `warn` sends SIGTERM to the process. `kill` and the task's cancellation send SIGKILL to its
///   group. The worker does not watch the deadline, which arrives as a signal.
/// - The resident memory of the process and its descendants is sampled five times a second. If it
///   exceeds the order's limit, the group is killed. The kernel limits the memory that the process
///   requests to twice the limit plus 256 MiB. A limit of 0 or less means no limit.
/// - The group is killed for a line that is not a report, a line of more than
///   `AttemptReport.longestLine` bytes, a line after the outcome, more than 1,000 counts or 16
///   different events, or more than 16 MiB in total.
/// - Processes of the group that still run when the process has ended are killed, and break the
///   attempt. A process that has left the group is not found.
/// - `run` returns when the process has been reaped and every descriptor is closed.
public struct ProcessWorker: Worker {
    private let launch: Launch
    private let running: RunningAttempts

    /// Creates a worker.
    ///
    /// - Parameters:
    ///   - executable: the program's path, not searched for, and its arguments; not empty.
    ///   - environment: the process's whole environment.
    ///   - leaseLock: an open descriptor that the process inherits as number 5. It must stay open
    ///     while attempts start.
    ///   - attempts: called with the number of running attempts whenever it changes; must not
    ///     block.
    public init(
        executable: [String], environment: [String: String], leaseLock: Int32?,
        attempts: @escaping @Sendable (_ running: Int) -> Void = { _ in }
    ) {
        precondition(!executable.isEmpty, "a worker needs a program, got \(executable)")
        launch = Launch(
            executable: executable, environment: environment, leaseLock: leaseLock)
        running = RunningAttempts(attempts)
    }

    public func run(
        _ order: AttemptOrder, signals: AsyncStream<AttemptSignal>,
        progress: @escaping @Sendable (_ done: Int64, _ total: Int64) -> Void
    ) async -> AttemptEnd {
        guard !Task.isCancelled else {
            return AttemptEnd(.broke(.notStarted("cancelled before it started")))
        }
        running.change(by: 1)
        defer { running.change(by: -1) }
        let launch = launch
        let text = Array(order.lines.map { $0 + "\n" }.joined().utf8)
        do throws(SystemError) {
            return try await AttemptWatch.run(signals, progress) {
                () throws(SystemError) -> ProcessAttempt<ReportReader> in
                try ProcessAttempt(
                    text, memoryLimitBytes: order.memoryLimitBytes, ReportReader()
                ) { reads, writes throws(SystemError) in
                    try launch.start(order: reads, report: writes)
                }
            }
        } catch {
            return AttemptEnd(.broke(.notStarted(error.text)))
        }
    }
}

/// Counts the running attempts.
final class RunningAttempts: Sendable {
    private let count = Mutex(0)
    private let tell: @Sendable (Int) -> Void

    init(_ tell: @escaping @Sendable (Int) -> Void) { self.tell = tell }

    func change(by difference: Int) {
        // Call under the lock, so that the last number reported is the last one counted.
        count.withLock { count in
            count += difference
            tell(count)
        }
    }
}
