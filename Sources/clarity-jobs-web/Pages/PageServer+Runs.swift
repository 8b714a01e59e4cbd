import ClarityHost
import ClarityScheduler
import HTTPServing
import HealthStore
import JSON
import Platform
import Synchronization
import WebAPI
@preconcurrency import Glibc

// `POST /api/v1/run/JOB`: a program asks for a run of a job, with a token and without a session.
extension PageServer {
    static let runPath = "/api/v1/run/"
    /// The longest that a request waits for the end of its run, in seconds.
    static let longestWait: Int64 = 300

    func run(_ request: PageRequest, _ head: RequestHead) -> Exchange {
        let token: BearerTokens.Entry?
        do throws(BackupError) {
            guard let given = head.bearerToken else { return refuseToken(head) }
            token = try runs.tokens.entry(of: given)
        } catch {
            complain("\(error)".forReport)
            return refuse(503, "the tokens cannot be read; the log says why")
        }
        guard let token else { return refuseToken(head) }
        if let wait = runs.rate.withLock({ $0.wait(of: token.name) }) {
            complain("refused a run to token `\(token.name)` with 429")
            return refuse(
                429, "a token has at most \(TokenRuns.mostInMinute) requests a minute",
                headers: ["Retry-After": "\(wait)"])
        }
        let job = String(request.path.dropFirst(PageServer.runPath.count))
        // Nobody learns by the answer which jobs there are.
        guard APIValue.job.accepts(job), token.jobs.contains(job) else {
            complain("refused a run to token `\(token.name)` with 403: of no job that it may run")
            return refuse(403, "this token may not run this job, or there is no such job")
        }
        guard !settings.isReadOnly else { return refuse(403, "these pages only show") }
        let wait = APIValue.number(0...PageServer.longestWait)
        guard request.query.allSatisfy({ $0.name == "wait" }), request.query.count <= 1,
            request.query.allSatisfy({ wait.accepts($0.value) })
        else {
            return refuse(400, "the only parameter is `wait`, \(wait.summary): seconds")
        }
        let seconds = request.query.first.flatMap { Int64($0.value) } ?? 0
        let order = TokenRun(token: token.name, job: job, wait: .seconds(seconds))
        return Exchange(working: { [self] later in begin(order, later) })
    }

    /// Refuses a token that is wrong or missing; the right ones work however many wrong ones come.
    private func refuseToken(_ head: RequestHead) -> Exchange {
        let wait = runs.wrong.withLock { $0.take(peer(head), "", at: .now) }
        if let seconds = wait.map({ $0.milliseconds / 1000 + 1 }) {
            return refuse(
                429, "too many wrong tokens; try again in \(seconds) s",
                headers: ["Retry-After": "\(seconds)"])
        }
        complain("refused a run with 401: the token is wrong or missing")
        return refuse(
            401, "the token is wrong or missing", headers: ["WWW-Authenticate": "Bearer"])
    }

    /// Asks for the run, as a person does on the page.
    private func begin(_ order: TokenRun, _ later: LaterAnswer) {
        command(["run", "--ask", "--", order.job], order, orElse: later) { [self] end in
            guard case .success(let result) = end, result.status == 0,
                case .array(let rows)? = order.json(result),
                case .integer(let run)? = rows.first?["run"]
            else {
                complain("token `\(order.token)` asked for a run of `\(order.job)`: refused")
                // A fault names the job file and shows a part of it.
                if case .success(let result) = end,
                    result.status == ExitStatus.faultyInput.rawValue
                {
                    let answer = PageServer.fault(409, "the job is faulty in the job file")
                    return later.give(answer.secured)
                }
                return later.give(CommandAnswer.toAction(end).secured)
            }
            complain("token `\(order.token)` asked for a run of `\(order.job)`: run \(run)")
            let mayWait = order.wait > .zero && runs.enter(order.token)
            follow(order, run, until: .now + (mayWait ? order.wait : .zero)) { [self] answer in
                if mayWait { runs.leave(order.token) }
                later.give(answer.secured)
            }
        }
    }

    /// Answers when the run has ended, or with what it waits for when the time is over.
    ///
    /// While too many commands wait, it looks again later: the run may end meanwhile.
    func follow(
        _ order: TokenRun, _ run: Int64, until end: ContinuousClock.Instant,
        _ give: @escaping @Sendable (Answer) -> Void
    ) {
        // Changes from now on are seen, also those that come while the command looks.
        let changes = Inotify()
        changes?.watch(runs.folder, IN_MODIFY | IN_MOVED_TO)
        let begun = ContinuousClock.now
        @Sendable func close() { if let changes { Glibc.close(changes.descriptor) } }
        let busy = "the server is busy and cannot look at the run"
        @Sendable func answer(_ status: UInt32, _ shown: JSON?, reason: String?) {
            close()
            give(order.answer(status, run, shown, reason: reason))
        }
        @Sendable func lookLater(_ shown: JSON?) {
            let code = DetachedThread.start { [self] in
                TokenRuns.pause(changes, from: begun, until: end)
                close()
                follow(order, run, until: end, give)
            }
            if code != 0 { answer(202, shown, reason: busy) }
        }
        let isTaken = command(["history", "show", "--", "\(run)"], order) { [self] result in
            let shown: JSON? =
                if case .success(let result) = result { order.json(result) } else { nil }
            let state = shown?["state"]?.text.flatMap { RunState(rawValue: $0) }
            if state?.isFinished == true { return answer(200, shown, reason: nil) }
            guard ContinuousClock.now >= end else { return lookLater(shown) }
            guard state == .enqueued else { return answer(202, shown, reason: nil) }
            close()
            explain(order, run, shown, give)
        }
        guard !isTaken else { return }
        guard ContinuousClock.now >= end else { return lookLater(nil) }
        answer(202, nil, reason: busy)
    }

    /// Answers with what the run waits for, as `explain` sees it now.
    private func explain(
        _ order: TokenRun, _ run: Int64, _ shown: JSON?,
        _ give: @escaping @Sendable (Answer) -> Void
    ) {
        let isTaken = command(["explain", "--", order.job], order) { result in
            let explained: JSON? =
                if case .success(let result) = result { order.json(result) } else { nil }
            give(order.answer(202, run, shown, reason: TokenRun.reason(explained)))
        }
        if !isTaken { give(order.answer(202, run, shown, reason: nil)) }
    }

    private func command(
        _ words: [String], _ order: TokenRun, orElse later: LaterAnswer,
        then end: @escaping @Sendable (CommandAnswer.End) -> Void
    ) {
        if !command(words, order, then: end) { later.give(PageServer.busy.secured) }
    }

    /// Runs a command that shows nothing of what programs wrote, as for a caretaker.
    private func command(
        _ words: [String], _ order: TokenRun,
        then end: @escaping @Sendable (CommandAnswer.End) -> Void
    ) -> Bool {
        commands.run(
            words, for: .person("token \(order.token)"), in: "token \(order.token)",
            viewer: .caretaker, then: end)
    }
}

/// A run that a token has asked for.
struct TokenRun: Sendable {
    /// The name of the token.
    var token: String
    var job: String
    var wait: Duration

    /// Returns the output of a command as JSON; `nil` if it is none.
    func json(_ result: CapturedCommand.Result) -> JSON? {
        do throws(JSONFault) {
            return try JSONParser.parse(result.output)
        } catch {
            return nil
        }
    }

    /// Returns the answer about the run.
    ///
    /// - Parameters:
    ///   - shown: the output of `history show`.
    ///   - reason: why it waits; without it, why its last attempt failed.
    func answer(_ status: UInt32, _ run: Int64, _ shown: JSON?, reason: String?) -> Answer {
        let failure = shown?["failure"]?.text
        let state = shown?["state"]?.text
        let isCommand = shown?["kind"]?.text == "command"
        let exit: Int64? =
            switch state {
            case RunState.succeeded.rawValue: isCommand ? 0 : nil
            case RunState.failed.rawValue: failure?.exitStatus
            default: nil
            }
        return Answer(
            status,
            [
                "run": .integer(run), "job": .string(job), "state": .text(state),
                "reason": .text(reason ?? failure), "exit_status": .integer(optional: exit),
                "started_at": shown?["started_at"] ?? .null,
                "finished_at": shown?["finished_at"] ?? .null,
            ])
    }

    /// Returns what holds a job back, in words, of the output of `explain`; `nil` if nothing does.
    static func reason(_ explained: JSON?) -> String? {
        let factors = ["reasons", "constraints"].flatMap { name -> [JSON] in
            if case .array(let factors)? = explained?[name] { factors } else { [] }
        }
        let words = factors.filter { $0["verdict"]?.text == "unmet" }.compactMap { factor in
            let (wanted, measured) = (factor["wanted"]?.text ?? "", factor["measured"]?.text ?? "")
            let facts = [measured, wanted.isEmpty ? "" : "wanted \(wanted)"].filter { !$0.isEmpty }
            return factor["subject"]?.text.map { subject in
                facts.isEmpty ? subject : "\(subject): \(facts.joined(separator: ", "))"
            }
        }
        return words.isEmpty ? nil : "waits for " + words.joined(separator: "; ")
    }
}

/// The tokens of those who may ask for runs, how often they do, and how many of them wait.
final class TokenRuns: Sendable {
    /// The most requests of a token in a minute.
    static let mostInMinute = 60
    /// The most requests that wait for their runs: of a token, and in all. One more is answered at
    /// once, as without `wait`.
    private static let mostWaiting = (ofToken: 4, inAll: 16)
    /// The time between two looks at a run: nothing announces a change in a database.
    private static let between = (least: Duration.milliseconds(500), most: Duration.seconds(5))

    let tokens: BearerTokens
    /// Where the history is.
    let folder: String
    let rate = Mutex(TokenRate(most: TokenRuns.mostInMinute, SystemClock()))
    /// The wrong tokens of the last minute.
    let wrong = Mutex(PasswordAttempts())
    private let waiting = Mutex<[String: Int]>([:])

    init(stateDirectory: String) {
        folder = stateDirectory
        tokens = .ofRuns(stateDirectory: stateDirectory)
    }

    /// Takes a place for a request that waits; returns `false` if there is none.
    func enter(_ token: String) -> Bool {
        waiting.withLock { waiting in
            let own = waiting[token] ?? 0
            guard own < TokenRuns.mostWaiting.ofToken,
                waiting.values.reduce(0, +) < TokenRuns.mostWaiting.inAll
            else { return false }
            waiting[token] = own + 1
            return true
        }
    }

    /// Gives the place back.
    func leave(_ token: String) {
        waiting.withLock { waiting in
            let left = (waiting[token] ?? 1) - 1
            waiting[token] = left == 0 ? nil : left
        }
    }

    /// Blocks until the history may have changed, but not beyond `end`.
    static func pause(
        _ changes: Inotify?, from begun: ContinuousClock.Instant,
        until end: ContinuousClock.Instant
    ) {
        func milliseconds(until instant: ContinuousClock.Instant) -> Int32 {
            Int32(clamping: max((min(instant, end) - .now).milliseconds + 1, 0))
        }
        var set = pollfd(fd: changes?.descriptor ?? -1, events: Int16(POLLIN), revents: 0)
        // Many writes in a row are one reason to look.
        poll(nil, 0, milliseconds(until: begun + between.least))
        poll(&set, 1, milliseconds(until: begun + between.most))
    }
}
