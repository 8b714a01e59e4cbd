public import ClarityScheduler
import Platform
import Glibc
import SwiftOverlayShims

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
/// | `CLARITY_DEADLINE` | the end of its `timeout`, in UTC by RFC 3339 |
///
/// Into the file of `CLARITY_REPORT` the program may write what it has done (`CommandReport`).
///
/// A job that another one started through `then` also gets `CLARITY_AFTER_JOB`, `CLARITY_AFTER_RUN`,
/// `CLARITY_AFTER_STATE` (`succeeded` or `failed`) and, after a failure, `CLARITY_AFTER_REASON`.
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
    private let finished: @Sendable (RunID) throws(Failure) -> Run?
    private let clock: any WallClock
    private let output: OutputHandler?

    /// Hears what the program of an attempt writes, as it arrives and split anywhere.
    public typealias OutputHandler = @Sendable (_ order: AttemptOrder, ArraySlice<UInt8>) -> Void

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
    ///   - finished: looks up the run whose end started a job through `then`.
    ///   - clock: the clock for the start of each attempt.
    ///   - output: hears the output of each.
    public init(
        environment: @escaping @Sendable () -> [String: String], keeper: CommandKeeper?,
        finished: @escaping @Sendable (RunID) throws(Failure) -> Run? = { _ in nil },
        clock: any WallClock, output: OutputHandler? = nil
    ) {
        self.environment = environment
        self.keeper = keeper
        self.finished = finished
        self.clock = clock
        self.output = output
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
        let report = keeper?.live.report(of: order)
        let variables = try plan.environment(
            over: environment(), order, after: try order.after.flatMap(finished),
            startedAt: clock.now)
        let all =
            report.map { variables.merging([CommandReport.variable: $0.path]) { $1 } } ?? variables
        guard let program = plan.program(in: all) else {
            throw Failure(.configuration, "the program is not found in PATH")
        }
        guard plan.hasFolder else {
            throw Failure(.configuration, "its `folder` is none, or may not be looked at")
        }
        let keeper = keeper
        let limit = Int(plan.outputLimit)
        var heard: (@Sendable (ArraySlice<UInt8>) -> Void)?
        if let output { heard = { output(order, $0) } }
        let captured = CapturedOutput(
            limit: limit, live: keeper?.live.output(of: order, limit: limit), heard: heard,
            report: report.map { [clock] in
                CommandReport($0, isOfAccount: order.job.account != nil) { clock.now }
            })
        let words = [program] + plan.words.dropFirst()
        do throws(SystemError) {
            let end = try await ProcessAttempt.run(
                keeper == nil ? [] : CommandKeeper.go, memoryLimitBytes: order.memoryLimitBytes,
                captured, signals, progress
            ) { reads, writes throws(SystemError) in
                var start = try ProcessStart()
                try start.enter(plan.folder)
                try start.open("/dev/null", O_RDONLY, as: 0)
                try start.give(writes.number, as: 1)
                try start.give(writes.number, as: 2)
                if let keeper {
                    return try keeper.start(
                        words, umask: plan.umask.rawValue, all, order, reads: reads, start)
                }
                try start.closeAll(from: 3)
                return try start.run(words, all)
            }
            return end.withFirstLine(of: program)
        } catch {
            return AttemptEnd(error.commandResult(of: program))
        }
    }
}

extension AttemptEnd {
    /// The end of a program that a keeper could not start, with what its first line lacks; any other
    /// end as it is.
    fileprivate func withFirstLine(of program: String) -> AttemptEnd {
        guard case .reported(.failure(let failure)) = result,
            [126, 127].contains(failure.reason.exitStatus), let fault = FirstLine.fault(of: program)
        else { return self }
        var end = self
        end.result = .reported(
            .failure(Failure(.configuration, "the program cannot be run: \(fault)")))
        return end
    }
}

extension SystemError {
    /// The result of a command that could not be started. Another attempt cannot find another
    /// program, but it may find more memory.
    fileprivate func commandResult(of program: String) -> AttemptEnd.Result {
        switch code {
        case ENOENT, ENOTDIR, EACCES, EPERM, ENOEXEC, EISDIR, ELOOP, E2BIG, EINVAL:
            let fault = [ENOENT, ENOEXEC].contains(code) ? FirstLine.fault(of: program) : nil
            return .reported(
                .failure(
                    Failure(.configuration, "the program cannot be run: \(fault ?? reason)")))
        default: return .broke(.notStarted(description))
        }
    }
}

extension JobKindDeclaration {
    /// The kind `command`, for any catalogue: `CommandPlan` reads its options, and `CommandWorker`
    /// runs it.
    public static let command = JobKindDeclaration(
        .command, summary: "runs any program; its exit status decides the outcome",
        options: CommandPlan.declarations)
}

/// The work of a job of the kind `command`: its options.
public struct CommandPlan: DeclaredOptions, Hashable {
    /// The program's name or absolute path, and its arguments; not empty once options were read.
    public private(set) var words: [String] = []
    /// The absolute path of the folder in which the program starts.
    public private(set) var folder = "/"
    /// The variables that it gets in addition to those of this program.
    public private(set) var variables: [String: String]?
    /// The parameters that a request for a run may set.
    public private(set) var parameters: Parameters?
    /// The umask with which it starts under a keeper; else it inherits that of this program.
    public private(set) var umask = Umask.none
    /// The maximum number of bytes of its output to keep.
    public private(set) var outputLimit: Int64 = 64 << 10

    /// A umask, in octal.
    public enum Umask: String, CaseIterable, Sendable {
        /// Nobody but the user sees new files.
        case none = "077"
        case groupReads = "027"
        case groupWrites = "007"
        case allRead = "022"
        case groupWritesAllRead = "002"
    }

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        let missing = "option `command` names no program"
        fields.add(
            required: "command", .command, &words, ifMissing: missing,
            "program and arguments, one word per entry; no shell is involved")
        if words.first?.isEmpty == true { fields.refuse(missing) }
        fields.add("folder", .path, &folder, "working directory")
        fields.add(
            "environment", .variables, &variables,
            "more environment variables; no secrets")
        fields.add(
            Parameters.option, .parameters, &parameters,
            "more environment variables, which `run --set` may set for one run; no secrets")
        fields.add(
            "umask", &umask,
            "which rights new files of the program lack, as umask(2) counts them")
        fields.add(
            "output_limit", .size((1 << 10)...(16 << 20)), &outputLimit,
            "how much of the output is kept, one half from the beginning and one from "
                + "the end")
    }

    /// Returns the program's path; `nil` if it is not found.
    ///
    /// - Parameter environment: the program's whole environment.
    public func program(in environment: [String: String]) -> String? {
        words.first.flatMap { ProgramSearch.path(of: $0, in: environment["PATH"]) }
    }

    /// Returns what of the program and its folder is missing now, as messages and remedies; `base` has
    /// the variables that it gets from this program's environment.
    public func missing(over base: [String: String]) -> [(message: String, help: String?)] {
        let found = CommandPlan.missing(words, in: base.merging(variables ?? [:]) { $1 })
        return found + (hasFolder ? [] : [("there is no folder `\(folder)`", nil)])
    }

    /// Returns the same of a program alone.
    public static func missing(
        _ words: [String], in environment: [String: String]
    ) -> [(message: String, help: String?)] {
        var found: [(message: String, help: String?)] = []
        let name = words.first ?? ""
        if let program = ProgramSearch.path(of: name, in: environment["PATH"]) {
            if access(program, X_OK) != 0 {
                found.append(("program `\(program)` cannot be run: \(SystemError().reason)", nil))
            } else if let fault = FirstLine.fault(of: program) {
                found.append(("program `\(program)` cannot be run: \(fault)", nil))
            }
        } else {
            let path = environment["PATH"] ?? ProgramSearch.standardFolders
            found.append(
                (
                    "program `\(name)` is not found in PATH `\(path)`",
                    "a service may have another PATH; write the program's absolute path"
                ))
        }
        return found
    }

    /// Whether the folder exists and is a folder.
    public var hasFolder: Bool {
        var status = stat()
        return stat(folder, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Returns the program's whole environment.
    ///
    /// - Parameters:
    ///   - base: the variables that it gets from this program's environment.
    ///   - before: the run whose end started this one.
    ///   - startedAt: the time at which the attempt starts.
    /// - Throws: `Failure` (configuration) if the run's parameters do not fit those of the job.
    public func environment(
        over base: [String: String], _ order: AttemptOrder, after before: Run? = nil,
        startedAt: Instant
    ) throws(Failure) -> [String: String] {
        base.merging(variables ?? [:]) { _, own in own }
            .merging(try values(order.parameters)) { _, own in own }
            .merging(CommandPlan.variables(of: order, startedAt: startedAt)) { _, ours in ours }
            .merging(before.map(CommandPlan.variables) ?? [:]) { _, ours in ours }
    }

    /// Returns the values of the parameters. The job file may have changed since the request.
    private func values(_ given: [String: String]) throws(Failure) -> [String: String] {
        do throws(Parameters.Fault) {
            return try (parameters ?? Parameters([])).values(given)
        } catch {
            throw Failure(.configuration, error.reason)
        }
    }

    /// Returns the variables that tell a job what happened to the one before it.
    private static func variables(of before: Run) -> [String: String] {
        var variables = [
            "CLARITY_AFTER_JOB": before.job.rawValue, "CLARITY_AFTER_RUN": "\(before.id)",
            "CLARITY_AFTER_STATE": before.state.rawValue,
        ]
        if before.state == .failed { variables["CLARITY_AFTER_REASON"] = before.failure?.reason }
        return variables
    }

    /// Returns the variables that identify the attempt to the program.
    private static func variables(
        of order: AttemptOrder, startedAt: Instant
    ) -> [String: String] {
        [
            "CLARITY_JOB": order.job.rawValue, "CLARITY_RUN": "\(order.run)",
            "CLARITY_ATTEMPT": "\(order.attempt)", "CLARITY_GENERATION": "\(order.fencingToken)",
            "CLARITY_SCHEDULED_FOR": "\(order.scheduledFor)",
            "CLARITY_DEADLINE": "\(startedAt + order.timeout)",
        ]
    }
}

/// The first line of a script, which names the program that runs it (execve(2)).
enum FirstLine {
    /// The most bytes of it that the kernel reads.
    private static let most = 256

    /// Returns why a file cannot be run, if its beginning says so; `nil` also for what is no regular
    /// file, or cannot be read.
    static func fault(of path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let descriptor = Descriptor(owning: open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK))
        var bytes = [UInt8](repeating: 0, count: most)
        let count = read(descriptor.number, &bytes, most)
        guard count >= 0 else { return nil }
        let head = bytes.prefix(count)
        guard head.starts(with: "#!".utf8) else {
            // What is not text may be known to the kernel by its first bytes.
            return head.contains(0) || head.first == 0x7F
                ? nil : "it lacks a first line such as `#!/bin/sh`"
        }
        let line = head.dropFirst(2).prefix { $0 != UInt8(ascii: "\n") }
        guard line.last == UInt8(ascii: "\r") else { return nil }
        let words = String(decoding: line.dropLast(), as: UTF8.self).split(separator: " ")
        return "its first line names \(shown(String(words.first ?? ""))) with a Windows line end: "
            + "save it with Unix line ends"
    }
}

/// Finds programs as a shell does, but only at places that do not depend on the working directory.
enum ProgramSearch {
    /// The folders to search if the environment names none.
    static let standardFolders = "/usr/local/bin:/usr/bin:/bin"

    /// Returns the path of a program; `nil` if it is not found.
    ///
    /// A name with a slash must be an absolute path, and is returned as it is, whether the program
    /// exists or not. Any other name is searched for in the absolute folders among `folders`, a
    /// list with colons like `PATH`.
    static func path(of name: String, in folders: String?) -> String? {
        guard !name.utf8.contains(UInt8(ascii: "/")) else {
            return name.hasPrefix("/") ? name : nil
        }
        guard !name.isEmpty else { return nil }
        for folder in (folders ?? standardFolders).split(separator: ":") where folder.first == "/" {
            let path = "\(folder)/\(name)"
            var status = stat()
            // A folder may be executable too.
            if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
                access(path, X_OK) == 0
            {
                return path
            }
        }
        return nil
    }
}

/// Starts commands under `clarity-jobs-keeper`, which ends them when this process is gone.
///
/// Without a keeper, a command outlives a scheduler that is killed, and is started again beside
/// itself.
public struct CommandKeeper: Sendable {
    private let program: String
    private let proof: AttemptProof
    fileprivate let live: LiveAttempts

    /// Creates a keeper.
    ///
    /// - Parameters:
    ///   - program: the path of `clarity-jobs-keeper`.
    ///   - proof: what a keeper holds until its command has ended.
    ///   - live: where the output of a command goes until then.
    public init(_ program: String, _ proof: AttemptProof, _ live: LiveAttempts) {
        (self.program, self.proof, self.live) = (program, proof, live)
    }

    /// What to send to the keeper so that it starts the command, once its limits are set.
    static let go: [UInt8] = Array("\n".utf8)

    /// How much later than the scheduler the keeper itself ends a command whose time is over.
    private static let margin = Duration.seconds(10)

    /// Starts a command's keeper, whose descriptors 0 to 2 are set up, and returns its process.
    ///
    /// - Parameter reads: a pipe whose end tells the keeper that this process is gone.
    func start(
        _ words: [String], umask: String, _ environment: [String: String], _ order: AttemptOrder,
        reads: borrowing Descriptor, _ start: consuming ProcessStart
    ) throws(SystemError) -> pid_t {
        let limit = order.timeout + order.warning + CommandKeeper.margin
        let words =
            [program, "\(order.warning.milliseconds)", "\(limit.milliseconds)", umask] + words
        let lock = try proof.take(order).raised(to: ProcessStart.firstFree)
        try start.give(lock.number, as: 3)
        try start.give(reads.number, as: 4)
        guard let session = proof.session else {
            try start.closeAll(from: 5)
            return try start.run(words, environment)
        }
        let span = try Descriptor.duplicate(session.span, from: ProcessStart.firstFree)
        let socket = try Descriptor.duplicate(session.socket, from: ProcessStart.firstFree)
        try start.give(span.number, as: 5)
        try start.give(socket.number, as: 6)
        try start.closeAll(from: 7)
        return try start.run(words, environment)
    }
}
