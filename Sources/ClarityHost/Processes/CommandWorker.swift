public import ClarityScheduler
import Platform
import Glibc

/// Runs each attempt of the kind `command` as the program that the job names.
///
/// The program leads a process group of its own and starts in the job's folder. It finds
/// `/dev/null` on descriptor 0 and a pipe on 1 and 2; the beginning and the end of its output are
/// kept. No other descriptor is open, and no signal is blocked or ignored. Its environment consists
/// of the one given to this worker, the job's own variables, and:
///
/// | variable | |
/// |---|---|
/// | `CLARITY_JOB` | the job's id |
/// | `CLARITY_RUN` | the run's number |
/// | `CLARITY_ATTEMPT` | the attempt of that run, from 1 |
/// | `CLARITY_GENERATION` | higher than in every earlier attempt of the run: a fencing token |
/// | `CLARITY_SCHEDULED_FOR` | the occurrence, in UTC by RFC 3339 |
/// | `CLARITY_DEADLINE` | the time at which it is killed, in UTC by RFC 3339 |
///
/// - `warn` sends SIGTERM to the program. `kill` and the task's cancellation send SIGKILL to its
///   group. Memory and leftover processes are watched as in `ProcessWorker`.
/// - `CommandExit` defines the meaning of each exit status. A program that is not found or cannot
///   be run fails for good, as with statuses 127 and 126.
/// - With a keeper, the program ends when this process is gone, and the run stays its own until it
///   has ended. Without one, it outlives a scheduler that is killed.
public struct CommandWorker: Worker {
    private let environment: @Sendable () -> [String: String]
    private let keeper: CommandKeeper?
    private let clock: any WallClock

    /// Creates a worker with one environment for all commands.
    public init(environment: [String: String], keeper: CommandKeeper?, clock: any WallClock) {
        self.init(environment: { environment }, keeper: keeper, clock: clock)
    }

    /// Creates a worker.
    ///
    /// - Parameters:
    ///   - environment: returns the variables of this program that a command gets, at the start of
    ///     each. Commands are searched for in its `PATH`, unless the job sets its own. Variables
    ///     that commands must not see must not be in it.
    ///   - keeper: starts the programs; `nil` to start them directly.
    ///   - clock: the clock for the start of each attempt.
    public init(
        environment: @escaping @Sendable () -> [String: String], keeper: CommandKeeper?,
        clock: any WallClock
    ) {
        self.environment = environment
        self.keeper = keeper
        self.clock = clock
    }

    public func run(
        _ order: AttemptOrder, signals: AsyncStream<AttemptSignal>,
        progress: @escaping ProgressHandler
    ) async -> AttemptEnd {
        do throws(Failure) {
            return try await run(CommandPlan(order.options), order, signals, progress)
        } catch {
            return AttemptEnd(.reported(.failure(error)))
        }
    }

    private func run(
        _ plan: CommandPlan, _ order: AttemptOrder, _ signals: AsyncStream<AttemptSignal>,
        _ progress: @escaping ProgressHandler
    ) async throws(Failure) -> AttemptEnd {
        let all = plan.environment(over: environment(), order, startedAt: clock.now)
        guard let program = plan.program(in: all) else {
            throw Failure(.configuration, "the program is not found in PATH")
        }
        guard plan.hasFolder else {
            throw Failure(.configuration, "its `folder` is none, or may not be looked at")
        }
        let keeper = keeper
        let words = [program] + plan.words.dropFirst()
        do throws(SystemError) {
            return try await ProcessAttempt.run(
                keeper == nil ? [] : CommandKeeper.go, memoryLimitBytes: order.memoryLimitBytes,
                CapturedOutput(limit: Int(plan.outputLimit)), signals, progress
            ) { reads, writes throws(SystemError) in
                var start = try ProcessStart()
                try start.enter(plan.folder)
                try start.open("/dev/null", O_RDONLY, as: 0)
                try start.give(writes.number, as: 1)
                try start.give(writes.number, as: 2)
                if let keeper { return try keeper.start(words, all, order, reads: reads, start) }
                try start.closeAll(from: 3)
                return try start.run(words, all)
            }
        } catch {
            return AttemptEnd(error.commandResult)
        }
    }
}

extension SystemError {
    /// The result of a command that could not be started. Another attempt cannot find another
    /// program, but it may find more memory.
    fileprivate var commandResult: AttemptEnd.Result {
        switch code {
        case ENOENT, ENOTDIR, EACCES, EPERM, ENOEXEC, EISDIR, ELOOP, E2BIG, EINVAL:
            return .reported(
                .failure(Failure(.configuration, "the program cannot be run: \(reason)")))
        default: return .broke(.notStarted(description))
        }
    }
}
