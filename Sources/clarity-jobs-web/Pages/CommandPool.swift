import ClarityHost
import Platform
import Synchronization
import WebAPI

/// Runs commands of `clarity-jobs` for requests, a few at the same time and in turns (`CommandQueue`).
///
/// The server holds no key and reads no database: every answer with data is the output of a
/// command, which is checked, logged and limited as at a terminal.
final class CommandPool: Sendable {
    /// How long a command may take, and how much it may write.
    static let limit = Duration.seconds(30)
    static let mostOutput = 32 << 20

    /// The program, the job file and the state directory.
    private let program: [String]
    private let environment: [String: String]
    private let queue = Mutex(CommandQueue<@Sendable () -> Void>())

    init(program: [String], environment: [String: String]) {
        (self.program, self.environment) = (program, environment)
    }

    /// Runs a command on a thread of its own and hands over its end; returns `false` if too many
    /// commands wait.
    ///
    /// - Parameters:
    ///   - asker: for whom it runs.
    ///   - session: the name of the session for the audit log.
    ///   - viewer: who has come in; the command shows nothing that is another's.
    func run(
        _ words: [String], for asker: CommandAsker, in session: String, viewer: APIViewer,
        then end:
            @escaping @Sendable (Result<CapturedCommand.Result, CapturedCommand.Fault>) -> Void
    ) -> Bool {
        var environment = environment
        environment["CLARITY_JOBS_PAGES_SESSION"] = session
        environment["CLARITY_JOBS_PAGES_VIEWER"] = viewer.name
        let (line, surroundings) = (program + ["--output=json"] + words, environment)
        return start(for: asker) {
            end(
                Result { () throws(CapturedCommand.Fault) in
                    try CapturedCommand.run(
                        line, environment: surroundings, within: CommandPool.limit,
                        atMost: CommandPool.mostOutput)
                })
        }
    }

    /// Runs something that blocks, when it is its turn; returns `false` if too much waits.
    func start(for asker: CommandAsker, _ job: @escaping @Sendable () -> Void) -> Bool {
        switch queue.withLock({ $0.add(job, for: asker) }) {
        case .refused: return false
        case .waits: return true
        case .begins: return begin(job, for: asker)
        }
    }

    /// Runs a job and those that follow it, on a thread of their own.
    private func begin(_ job: @escaping @Sendable () -> Void, for asker: CommandAsker) -> Bool {
        let code = DetachedThread.start { [self] in
            var (asker, job) = (asker, job)
            while true {
                job()
                guard let next = queue.withLock({ $0.end(of: asker) }) else { return }
                (asker, job) = next
            }
        }
        if code != 0 { queue.withLock { $0.giveUp(asker) } }
        return code == 0
    }
}
