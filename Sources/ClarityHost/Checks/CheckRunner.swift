public import ClarityScheduler
public import Platform
import CLinux
import Glibc
import Synchronization

/// Asks the checks of a job file, each in a process of its own, and keeps their last answers.
///
/// - A command passes if it exits with 0, and fails with any other status. If it cannot be started,
///   is killed by a signal or times out, the answer is unknown, with the reason.
/// - A command leads a process group of its own in the folder `/`, with `/dev/null` on its standard
///   descriptors, no other descriptor open, and no signal blocked or ignored. When the command ends
///   or times out, what remains of the group is killed. A process that has left the group is not
///   found.
/// - A URL is asked by a program that gets it as its last argument. The program exits with 0 for a
///   2xx answer, with 1 for another answer and with 69 for no answer; 1 and 69 mean that the check
///   fails. Its standard output may say in a few words what came, such as `503`.
/// - At most 8 checks are asked at the same time. Each has a thread that sleeps until its process
///   ends. There are no threads while nothing is asked.
/// - Time limits count only the time in which the machine is awake.
///
/// The runner never reads a command's output, and shows only the first word of a command.
public final class CheckRunner: Sendable {
    private struct State {
        var checks: [String: CheckDeclaration]
        var environment: [String: String]
        var queue = CheckQueue()
        var answers: [String: Conditions.Reading<Bool>] = [:]
        /// The process groups whose leaders are not reaped yet, so that no other group can have
        /// their ids.
        var groups: [String: ProcessGroup] = [:]
        var isEnded = false
        /// Rings at each answer; `nil` until the first listener.
        var bell: Bell?
        /// One eventfd(2) for each `settle` in progress.
        var settling: Set<Int32> = []
    }

    /// How long a killed process may take to end before it counts as stuck.
    private static let grace: Duration = .seconds(1)

    private let urlProgram: [String]?
    private let absent: String?
    private let clock: any WallClock
    private let state: Mutex<State>

    /// Creates a runner that has asked nothing yet.
    ///
    /// - Parameters:
    ///   - checks: The checks that can be asked. If several have one name, the first counts.
    ///   - urlProgram: The absolute path of the program for URLs and its arguments, without the
    ///     URL. If it is `nil`, the answer of every URL is unknown.
    ///   - environment: The complete environment of the commands. Its `PATH` is searched for them.
    ///     It must not contain anything that commands may not know.
    ///   - absent: Why a name that is not among the checks has no answer; `nil` if the job file has
    ///     no such check.
    ///   - clock: The clock that dates answers and measures how long they took. Time limits use the
    ///     machine's own clock.
    public init(
        _ checks: [CheckDeclaration] = [], urlProgram: [String]? = nil,
        environment: [String: String] = [:],
        absent: String? = nil,
        clock: any WallClock = SystemClock()
    ) {
        self.absent = absent
        state = Mutex(State(checks: CheckRunner.byName(checks), environment: environment))
        self.urlProgram = urlProgram
        self.clock = clock
    }

    /// Replaces the checks. The answer of a check whose declaration changes is dropped. If such a
    /// check is being asked, its answer is dropped too, but `announcement` still has an element.
    ///
    /// - Parameter environment: that of the commands from now on; `nil` leaves it as it is.
    public func declare(_ checks: [CheckDeclaration], environment: [String: String]? = nil) {
        let checks = CheckRunner.byName(checks)
        state.withLock { state in
            for name in state.answers.keys where checks[name] != state.checks[name] {
                state.answers[name] = nil
            }
            state.checks = checks
            if let environment { state.environment = environment }
        }
    }

    private static func byName(_ checks: [CheckDeclaration]) -> [String: CheckDeclaration] {
        Dictionary(checks.map { ($0.name, $0) }, uniquingKeysWith: { a, _ in a })
    }

    private func declaration(_ name: String) -> CheckDeclaration? {
        state.withLock { $0.checks[name] }
    }

    /// The last answer to each check that was asked, with its time and source; unknown, with the
    /// reason, if there was none.
    public var answers: [String: Conditions.Reading<Bool>] { state.withLock { $0.answers } }

    /// Asks the checks that are not being asked already, and returns at once.
    ///
    /// A name that no check has gets the answer unknown at once.
    public func ask(_ names: Set<String>) {
        let instant = clock.now
        let start = state.withLock { state -> [String] in
            guard !state.isEnded else { return [] }
            let known = names.filter { state.checks[$0] != nil }
            for name in names.subtracting(known) {
                state.answers[name] = Conditions.Reading(
                    nil, source: absent ?? "the job file has no check of that name",
                    at: instant)
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

    /// Asks checks and waits for their answers, for as long as the slowest may take and a little
    /// more. Blocks the calling thread.
    ///
    /// - Returns: The answers to all `names`. If an answer did not come in time because too many
    ///   other checks were before it, it is unknown.
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

    /// Opens a source that has an element whenever a check was answered; the first may be for
    /// earlier answers. `nil` if the process is out of descriptors.
    func announcement() -> EventSource<Void>? {
        state.withLock { state in
            let bell = state.bell ?? Bell()
            state.bell = bell
            return bell.source()
        }
    }

    /// Kills the checks that are being asked, and asks none from now on.
    public func end() {
        state.withLock { state in
            state.isEnded = true
            state.queue.end()
            state.groups.values.forEach { $0.killAll() }
        }
    }

    // MARK: Asking

    /// Starts a thread for each of these checks, which have slots in the queue.
    private func start(_ names: [String]) {
        var names = names[...]
        while let name = names.popFirst() {
            let code = DetachedThread.start { [self] in ask(name) }
            guard code != 0 else { continue }
            let reason = "\(SystemError("start a thread", code: code))"
            names += answer(name, declaration(name), .notStarted(reason))
        }
    }

    /// Asks a check from start to end on the calling thread.
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

    /// Waits until a process ends or times out, kills what remains of its group, and records its
    /// answer.
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
        // While the leader is not reaped, no other group can have its id.
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

    /// Why a program could not be started.
    private struct Refusal: Error {
        var reason: String
    }

    private func process(for check: CheckDeclaration) throws(Refusal) -> CheckProcess {
        let environment = state.withLock { $0.environment }
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
            throw Refusal(reason: "cannot be started: \(error.text)")
        }
    }

    /// Keeps the answer if the check's declaration has not changed, and announces it. Returns the
    /// checks to ask next.
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

    /// Wakes listeners and waiting `settle` calls. Call this under the lock, so that no descriptor
    /// is closed meanwhile.
    private static func ring(_ state: State) {
        state.bell?.ring()
        var one: UInt64 = 1
        for bell in state.settling { _ = write(bell, &one, MemoryLayout<UInt64>.size) }
    }
}

/// The checks that are being asked, those that wait for a slot, and those that cannot be asked.
///
/// A check is asked once at a time, whoever asks. Waiting checks get slots in the order in which
/// they were requested.
struct CheckQueue {
    /// The most checks that are asked at the same time.
    static let slots = 8

    private var waiting: [String] = []
    private var asked: Set<String> = []
    private var stuck: Set<String> = []

    /// What to do about requested checks.
    struct Orders: Hashable {
        /// The checks to ask now.
        var start: [String] = []
        /// The checks whose last process was killed and has not ended. Another process would not
        /// end either.
        var refuse: [String] = []
    }

    /// Returns whether a check is being asked or waits for a slot.
    func isOpen(_ name: String) -> Bool { asked.contains(name) || waiting.contains(name) }

    /// Adds requested checks, in the order of their names, and returns what to do.
    mutating func ask(_ names: Set<String>) -> Orders {
        var orders = Orders()
        for name in names.sorted() where !isOpen(name) {
            if stuck.contains(name) {
                orders.refuse.append(name)
            } else {
                waiting.append(name)
            }
        }
        orders.start = fillSlots()
        return orders
    }

    /// Records that a check was answered, and whether its process still has not ended. Returns the
    /// checks to ask now.
    mutating func answer(_ name: String, isStuck: Bool) -> [String] {
        asked.remove(name)
        if isStuck { stuck.insert(name) }
        return fillSlots()
    }

    /// Records that a stuck process has ended.
    mutating func free(_ name: String) { stuck.remove(name) }

    /// Drops the waiting checks.
    mutating func end() { waiting = [] }

    private mutating func fillSlots() -> [String] {
        let next = waiting.prefix(CheckQueue.slots - asked.count)
        waiting.removeFirst(next.count)
        asked.formUnion(next)
        return Array(next)
    }
}
