import ClarityHost
import Platform
import WebAPI

/// Runs commands of `clarity-jobs` for requests, a few at the same time and in turns (`WorkPool`).
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
    /// Where the commands run, and whatever else blocks.
    let work = WorkPool()

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
        _ words: [String], for asker: Asker, in session: String, viewer: APIViewer,
        then end:
            @escaping @Sendable (Result<CapturedCommand.Result, CapturedCommand.Fault>) -> Void
    ) -> Bool {
        var environment = environment
        environment["CLARITY_JOBS_PAGES_SESSION"] = session
        environment["CLARITY_JOBS_PAGES_VIEWER"] = viewer.name
        let (line, surroundings) = (program + ["--output=json"] + words, environment)
        return work.start(for: asker) {
            end(
                Result { () throws(CapturedCommand.Fault) in
                    try CapturedCommand.run(
                        line, environment: surroundings, within: CommandPool.limit,
                        atMost: CommandPool.mostOutput)
                })
        }
    }
}
