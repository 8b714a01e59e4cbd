import CLinux
public import ClarityScheduler
public import ClaritySystem
import Glibc
import Synchronization

/// Asks the checks of a job file, each in a process of its own, and keeps their last answers.
///
/// - A command that exits with 0 passes, with any other status it does not. One that cannot be
///   started, is killed by a signal or takes longer than its time limit is unknown, with the reason.
/// - A command leads a process group of its own in the folder `/`, with `/dev/null` on its standard
///   descriptors, nothing else open, and no signal blocked or ignored. What is left of the group
///   when the command ends or its time is over is killed; a process that has left it is not found.
/// - A URL is asked by a program that gets it as its last argument and exits with 0 for an answer of
///   2xx, with 1 for another and with 69 for none; both of the latter do not pass. Its standard
///   output may say in a few words what came, such as `503`.
/// - At most 8 are asked at once. Each has a thread that sleeps until its process ends; where nothing
///   is asked there is no thread.
/// - Time limits count the time in which the machine is awake.
///
/// Nothing that a command writes is read, and of its words only the first is ever told.
public final class CheckRunner: Sendable {
    private struct State {
        var checks: [String: CheckDeclaration]
        var queue = CheckQueue()
        var answers: [String: Conditions.Reading<Bool>] = [:]
        /// The process groups whose leaders are not reaped, so that their numbers are theirs.
        var groups: [String: ProcessGroup] = [:]
        var isEnded = false
        /// An eventfd(2) that counts the answers, -1 until somebody listens.
        var bell: Int32 = -1
        /// One more for each `settle` under way.
        var settling: Set<Int32> = []
    }

    /// How long a process that was killed may take to be gone, before it counts as one that cannot.
    private static let grace: Duration = .seconds(1)

    private let urlProgram: [String]?
    private let environment: [String: String]
    private let clock: any WallClock
    private let state: Mutex<State>

    /// Creates a runner that has asked nothing.
    ///
    /// - Parameters:
    ///   - checks: What can be asked; of several with one name the first counts.
    ///   - urlProgram: The program for URLs, by its absolute path, with its arguments but the URL;
    ///     without it no URL has an answer.
    ///   - environment: All that commands find in their environment; `PATH` in it is where they are
    ///     looked for. What commands must not know must not be in it.
    ///   - clock: What tells when an answer came and how long it took. Time limits are the
    ///     machine's own.
    public init(
        _ checks: [CheckDeclaration] = [], urlProgram: [String]? = nil,
        environment: [String: String] = [:], clock: any WallClock = SystemClock()
    ) {
        state = Mutex(State(checks: CheckRunner.byName(checks)))
        self.urlProgram = urlProgram
        self.environment = environment
        self.clock = clock
    }

    deinit {
        let bell = state.withLock { $0.bell }
        if bell >= 0 { close(bell) }
    }

    /// Asks these checks from now on. What an earlier declaration was told says nothing of a new one
    /// and is forgotten; where one is being asked, that it is answered is told without the answer.
    public func declare(_ checks: [CheckDeclaration]) {
        let checks = CheckRunner.byName(checks)
        state.withLock { state in
            for name in state.answers.keys where checks[name] != state.checks[name] {
                state.answers[name] = nil
            }
            state.checks = checks
        }
    }

    private static func byName(_ checks: [CheckDeclaration]) -> [String: CheckDeclaration] {
        Dictionary(checks.map { ($0.name, $0) }, uniquingKeysWith: { a, _ in a })
    }

    private func declaration(_ name: String) -> CheckDeclaration? {
        state.withLock { $0.checks[name] }
    }

    /// The last answer to each check that was asked, with when it came and from whom; unknown with
    /// the reason where there was none.
    public var answers: [String: Conditions.Reading<Bool>] { state.withLock { $0.answers } }

    /// Asks checks that are not being asked, and returns at once.
    ///
    /// A name that no check has is answered by "unknown" at once.
    public func ask(_ names: Set<String>) {
        let instant = clock.now
        let start = state.withLock { state -> [String] in
            guard !state.isEnded else { return [] }
            let known = names.filter { state.checks[$0] != nil }
            for name in names.subtracting(known) {
                state.answers[name] = Conditions.Reading(
                    nil, source: "the job file has no check of that name", at: instant)
            }
            let orders = state.queue.ask(known)
            for name in orders.refuse {
                guard let check = state.checks[name] else { continue }
                state.answers[name] = CheckEnd.stuck.reading(of: check, took: .zero, at: instant)
            }
            if known != names || !orders.refuse.isEmpty { CheckRunner.ring(state) }
            return orders.start
        }
        self.start(start)
    }

    /// Asks checks and waits for their answers: as long as the slowest of them may take and little
    /// more. Blocks the calling thread.
    ///
    /// - Returns: The answers, of all `names`; one that did not come, because too many others were
    ///   waited for, is unknown.
    public func settle(_ names: Set<String>) -> [String: Conditions.Reading<Bool>] {
        let longest = names.compactMap { declaration($0)?.timeout }.max() ?? .zero
        let limit = SuspendingClock.now + longest + CheckRunner.grace * 2
        let bell = Descriptor(owning: clinux_eventfd())
        state.withLock { _ = $0.settling.insert(bell.number) }
        defer { state.withLock { _ = $0.settling.remove(bell.number) } }
        ask(names)
        while state.withLock({ state in names.contains(where: state.queue.isOpen) }),
            bell.isReadable(before: limit)
        {
            var count: UInt64 = 0
            _ = read(bell.number, &count, MemoryLayout<UInt64>.size)
        }
        let instant = clock.now
        return state.withLock { state in
            var answers = state.answers.filter { names.contains($0.key) }
            for name in names where answers[name] == nil || state.queue.isOpen(name) {
                answers[name] = Conditions.Reading(
                    nil, source: "\(state.checks[name]?.subject ?? "check"): not asked yet",
                    at: instant)
            }
            return answers
        }
    }

    /// An element whenever a check has been answered; answers that come faster than they are taken
    /// are one element. The first may tell of answers from before.
    ///
    /// Silent where the process has no descriptor left.
    public func changes(on events: EventThread) -> AsyncStream<Void> {
        events.elements(of: announcement().map { [$0] } ?? [])
    }

    /// A source of the elements of `changes(on:)`, to be listened to among others.
    func announcement() -> EventSource<Void>? {
        let listener = state.withLock { state -> Int32 in
            if state.bell < 0 { state.bell = clinux_eventfd() }
            return state.bell < 0 ? -1 : fcntl(state.bell, F_DUPFD_CLOEXEC, 0)
        }
        // The count is left as it is, for other listeners: each answer is told once all the same.
        return listener < 0 ? nil : EventSource(descriptor: listener) { () }
    }

    /// Kills what is being asked, and asks nothing from now on.
    public func end() {
        state.withLock { state in
            state.isEnded = true
            state.queue.end()
            state.groups.values.forEach { $0.killAll() }
        }
    }

    // MARK: Asking

    /// Starts a thread for each of these checks, which have their places.
    private func start(_ names: [String]) {
        var names = names[...]
        while let name = names.popFirst() {
            let code = DetachedThread.start { [self] in ask(name) }
            guard code != 0 else { continue }
            let reason = "cannot start a thread: \(String(cString: strerror(code)))"
            names += answer(name, declaration(name), .notStarted(reason))
        }
    }

    /// Asks a check on the calling thread, from beginning to end.
    private func ask(_ name: String) {
        guard let check = declaration(name) else {
            return start(answer(name, nil, .notStarted("not in the job file any more")))
        }
        let began = clock.elapsed
        let limit = SuspendingClock.now + check.timeout
        do throws(Refusal) {
            watch(try process(for: check), of: check, since: began, until: limit)
        } catch {
            start(answer(name, check, .notStarted(error.reason)))
        }
    }

    /// Waits for the end of a process or sees to it, and takes its answer.
    private func watch(
        _ process: consuming CheckProcess, of check: CheckDeclaration, since began: Duration,
        until limit: SuspendingClock.Instant
    ) {
        let name = check.name
        let group = process.group
        let mayGoOn = state.withLock { state in
            state.groups[name] = group
            return !state.isEnded
        }
        let isLate = mayGoOn && !process.hasEnded(before: limit)
        let took = clock.elapsed - began
        // A leader that has ended and is not reaped keeps the group's number from being another's.
        group.killAll()
        let patience = SuspendingClock.now + CheckRunner.grace
        let isStuck = !process.hasEnded(before: patience)
        if isStuck {
            start(answer(name, check, .late, took: took, isStuck: true))
            _ = process.hasEnded()
        }
        state.withLock { $0.groups[name] = nil }
        let end = process.reap(before: patience)
        if isStuck {
            state.withLock { $0.queue.free(name) }
        } else {
            start(answer(name, check, isLate ? .late : end, took: took))
        }
    }

    /// Why nobody was asked.
    private struct Refusal: Error {
        var reason: String
    }

    private func process(for check: CheckDeclaration) throws(Refusal) -> CheckProcess {
        let words: [String]
        let isURL: Bool
        switch check.question {
        case .command(let command): (words, isURL) = (command, false)
        case .url(let url):
            guard let urlProgram else { throw Refusal(reason: "no program to ask it with") }
            (words, isURL) = (urlProgram + [url], true)
        }
        guard
            let program = words.first.flatMap({ name in
                ProgramSearch.path(of: name, in: environment["PATH"])
            })
        else { throw Refusal(reason: "not found in PATH") }
        do throws(SystemError) {
            return try CheckProcess(
                [program] + words.dropFirst(), environment: environment, listens: isURL)
        } catch {
            throw Refusal(reason: "cannot be started: \(String(cString: strerror(error.code)))")
        }
    }

    /// Keeps the answer to what was asked, while that is what is declared, and says that there is one;
    /// returns the checks to ask in its place.
    private func answer(
        _ name: String, _ check: CheckDeclaration?, _ end: CheckEnd, took: Duration = .zero,
        isStuck: Bool = false
    ) -> [String] {
        let reading = check.map { end.reading(of: $0, took: took, at: clock.now) }
        return state.withLock { state in
            state.answers[name] = state.checks[name] == check ? reading : nil
            CheckRunner.ring(state)
            return state.queue.answer(name, isStuck: isStuck)
        }
    }

    /// Wakes who listens and who waits; under the lock, so that no descriptor is closed meanwhile.
    private static func ring(_ state: State) {
        var one: UInt64 = 1
        for bell in state.settling.union([state.bell]) where bell >= 0 {
            _ = write(bell, &one, MemoryLayout<UInt64>.size)
        }
    }
}
