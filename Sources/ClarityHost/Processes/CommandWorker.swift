public import ClarityScheduler
import Glibc

/// Runs each attempt of the kind `command`: the program that the job names is the attempt.
///
/// It leads a process group of its own in the job's folder. It finds `/dev/null` on 0, a pipe on 1 and
/// 2 of which the beginning and the end are kept, on 3 the lease lock, which it has to leave alone,
/// nothing else open and no signal blocked or ignored. Its environment is the one given here, the job's
/// own, and:
///
/// | variable | |
/// |---|---|
/// | `CLARITY_JOB` | the job's id |
/// | `CLARITY_RUN` | the run's number |
/// | `CLARITY_ATTEMPT` | the attempt of that run, from 1 |
/// | `CLARITY_GENERATION` | higher than of every earlier attempt of the run: a fencing token |
/// | `CLARITY_SCHEDULED_FOR` | the occurrence, in UTC by RFC 3339 |
/// | `CLARITY_DEADLINE` | when it is killed, likewise |
///
/// - `warn` is SIGTERM to the program, `kill` and the task's cancellation SIGKILL to its group. Memory
///   and processes left behind are watched as `ProcessWorker` does.
/// - What its exit status means stands in `CommandExit`. A program that is not found or cannot be run
///   fails for good, as with 127 and 126.
/// - A scheduler that is killed does not take it along. The run stays its own until the lease has not
///   been renewed for `Planner.leaseTerm`; then another attempt, of a higher generation, may start
///   beside it.
public struct CommandWorker: Worker {
    private let environment: [String: String]
    private let leaseLock: Int32?
    private let clock: any WallClock

    /// Creates a worker.
    ///
    /// - Parameters:
    ///   - environment: what commands find in their environment of this program's; `PATH` in it is
    ///     where they are looked for. What they must not know must not be in it.
    ///   - leaseLock: as in `ProcessWorker`.
    ///   - clock: tells when an attempt begins.
    public init(environment: [String: String], leaseLock: Int32?, clock: any WallClock) {
        self.environment = environment
        self.leaseLock = leaseLock
        self.clock = clock
    }

    public func run(
        _ order: AttemptOrder, signals: AsyncStream<AttemptSignal>,
        progress: @escaping @Sendable (_ done: Int64, _ total: Int64) -> Void
    ) async -> AttemptEnd {
        guard !Task.isCancelled else {
            return AttemptEnd(.broke(.notStarted("cancelled before it started")))
        }
        let limit: Int
        let launch: CommandLaunch
        do throws(Failure) {
            let plan = try CommandPlan(order.options)
            limit = plan.outputLimit
            launch = try self.launch(plan, order)
        } catch {
            return AttemptEnd(.reported(.failure(error)))
        }
        do throws(SystemError) {
            return try await AttemptWatch.run(signals, progress) {
                () throws(SystemError) -> ProcessAttempt<CapturedOutput> in
                try ProcessAttempt(
                    [], memoryLimitBytes: order.memoryLimitBytes, CapturedOutput(limit: limit)
                ) { _, writes throws(SystemError) in
                    try launch.start(output: writes)
                }
            }
        } catch {
            return AttemptEnd(error.commandResult)
        }
    }

    private func launch(
        _ plan: CommandPlan, _ order: AttemptOrder
    ) throws(Failure) -> CommandLaunch {
        let all = plan.environment(over: environment, order, startedAt: clock.now)
        guard let program = plan.program(in: all) else {
            throw Failure(.configuration, "the program is not found in PATH")
        }
        guard plan.hasFolder else {
            throw Failure(.configuration, "its `folder` is none, or may not be looked at")
        }
        return CommandLaunch(
            words: [program] + plan.words.dropFirst(), folder: plan.folder, environment: all,
            leaseLock: leaseLock)
    }
}

extension SystemError {
    /// What it means that a command was not started: no other attempt finds another program, but one
    /// may find more memory.
    fileprivate var commandResult: AttemptEnd.Result {
        switch code {
        case ENOENT, ENOTDIR, EACCES, EPERM, ENOEXEC, EISDIR, ELOOP, E2BIG, EINVAL:
            let reason = String(cString: strerror(code)).lowercased()
            return .reported(
                .failure(Failure(.configuration, "the program cannot be run: \(reason)")))
        default: return .broke(.notStarted(text))
        }
    }
}
