public import ClarityScheduler
import Glibc
import Synchronization

/// Runs each attempt as a child process.
///
/// The process leads a group of its own. It finds `/dev/null` on 0 and 1, this program's error
/// stream on 2, the order on 3, its reports' pipe on 4, the lease lock on 5, nothing else open, no
/// signal blocked or ignored, and exactly the environment given. It leaves no core dump. The order
/// descriptor stays open until the attempt has ended; its end means that this program is gone.
///
/// - `warn` sends SIGTERM to the process, `kill` and the task's cancellation send SIGKILL to its
///   group. The deadline is not watched here: it comes as a signal.
/// - Resident memory of the process and its descendants is looked at five times a second; above
///   the order's limit the group is killed. Twice the limit and 256 MiB more is the kernel's limit
///   for memory that the process asks for. A limit of 0 or less is none.
/// - What is no report, a line of more than `AttemptReport.longestLine` bytes, a line after the
///   outcome, more than 1,000 counts and more than 16 MiB in all kill the group.
/// - What still runs in the group when the process has ended is killed, and breaks the attempt. A
///   process that has left the group is not found.
/// - `run` returns when the process has been reaped and every descriptor is closed.
public struct ProcessWorker: Worker {
    private let launch: Launch
    private let running: RunningAttempts

    /// Creates a worker.
    ///
    /// - Parameters:
    ///   - executable: The program's path, not searched for, and its arguments; not empty.
    ///   - environment: All that the process finds in its environment.
    ///   - leaseLock: An open descriptor that the process inherits as number 5. It must stay open
    ///     while attempts start.
    ///   - attempts: Hears how many attempts run whenever that changes; must not wait.
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

/// How many attempts run.
final class RunningAttempts: Sendable {
    private let count = Mutex(0)
    private let tell: @Sendable (Int) -> Void

    init(_ tell: @escaping @Sendable (Int) -> Void) { self.tell = tell }

    func change(by difference: Int) {
        // Under the lock, so that the last that is told is the last that was counted.
        count.withLock { count in
            count += difference
            tell(count)
        }
    }
}
