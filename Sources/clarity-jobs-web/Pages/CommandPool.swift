import ClarityHost
import ClaritySystem
import Synchronization

/// Runs commands of `clarity-jobs` for requests, a few at the same time.
///
/// The server holds no key and reads no database: every answer with data is the output of a
/// command, which is checked, logged and limited as at a terminal.
final class CommandPool: Sendable {
    /// How many commands run at the same time, and how many more wait.
    static let mostRunning = 4
    static let mostWaiting = 32
    /// How long a command may take, and how much it may write.
    static let limit = Duration.seconds(30)
    static let mostOutput = 32 << 20

    private struct State {
        var running = 0
        var waiting: [@Sendable () -> Void] = []
    }

    /// The program, the job file and the state directory.
    private let program: [String]
    private let environment: [String: String]
    private let state = Mutex(State())

    init(program: [String], environment: [String: String]) {
        (self.program, self.environment) = (program, environment)
    }

    /// Runs a command on a thread of its own and hands over its end; returns `false` if too many
    /// commands wait.
    ///
    /// - Parameter session: the name of the session for the audit log.
    func run(
        _ words: [String], for session: String,
        then end:
            @escaping @Sendable (Result<CapturedCommand.Result, CapturedCommand.Fault>) -> Void
    ) -> Bool {
        var environment = environment
        environment["CLARITY_JOBS_PAGES_SESSION"] = session
        let (line, surroundings) = (program + ["--output=json"] + words, environment)
        return start {
            end(
                Result { () throws(CapturedCommand.Fault) in
                    try CapturedCommand.run(
                        line, environment: surroundings, within: CommandPool.limit,
                        atMost: CommandPool.mostOutput)
                })
        }
    }

    /// Runs something that blocks, when it is its turn; returns `false` if too much waits.
    func start(_ job: @escaping @Sendable () -> Void) -> Bool {
        let begins: Bool? = state.withLock { state in
            guard state.running >= CommandPool.mostRunning else {
                state.running += 1
                return true
            }
            guard state.waiting.count < CommandPool.mostWaiting else { return nil }
            state.waiting.append(job)
            return false
        }
        guard let begins else { return false }
        guard begins else { return true }
        let code = DetachedThread.start { [self] in
            job()
            while let next = next() { next() }
        }
        if code != 0 { state.withLock { $0.running -= 1 } }
        return code == 0
    }

    /// Returns the job that has waited longest; without one, the thread ends.
    private func next() -> (@Sendable () -> Void)? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.running -= 1
                return nil
            }
            return state.waiting.removeFirst()
        }
    }
}
