public import ClarityScheduler
import Platform
import CLinux
import Glibc
import Synchronization

/// A thread that waits for descriptors and runs tasks, and sleeps while there is nothing to do.
///
/// An idle program must not wake up. As soon as libdispatch has a worker thread, it checks its
/// threads once a second, forever, and Swift's own executor is libdispatch. A program that does all
/// its work in `run` has no such worker, and no thread for tasks except its own. Work in `run` uses
/// no dispatch queue, and gives each unstructured task an `executorPreference`; otherwise a worker
/// starts. A program with other executors listens on `shared`, which waits on one additional
/// thread.
///
/// Work that may block has its own threads, without libdispatch: running attempts, checks, and
/// measurements of free space (`DetachedThread`).
public final class EventThread: TaskExecutor {
    /// Reads what is pending at a descriptor. The function that it returns notifies the listener.
    private typealias Take = @Sendable () -> (@Sendable () -> Void)?

    private struct State {
        var jobs: [UnownedJob] = []
        var sources: [Int32: Take] = [:]
        var alarms = Alarms()
        /// Whether the thread sleeps or is about to, so that it must be woken for a job.
        var isAsleep = false
        var isRunning = false
    }

    private let state = Mutex(State())
    private let poll: Int32
    private let wake = Bell()

    /// Creates an event thread, which has no thread until `run`; returns `nil` if the process is
    /// out of descriptors.
    public init?() {
        poll = clinux_poll()
        guard poll >= 0, wake.descriptor >= 0, clinux_poll_add(poll, wake.descriptor, 0) == 0
        else { return nil }
    }

    deinit {
        state.withLock { Array($0.sources.keys) }.forEach { close($0) }
        if poll >= 0 { close(poll) }
    }

    /// An event thread with a thread of its own, which starts on first use and ends with the
    /// process; `nil` if the system gave no descriptor or thread.
    public static let shared: EventThread? = {
        guard let events = EventThread() else { return nil }
        return DetachedThread.start { events.run(until: { false }) } == 0 ? events : nil
    }()

    // MARK: Running

    /// Runs `work` and its child tasks on the calling thread, and returns its result.
    ///
    /// Other tasks that `work` leaves behind pause until the next call. Only one call may run at a
    /// time.
    public func run<Result: Sendable, Failure: Error>(
        _ work: @escaping @Sendable () async throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let promised = Promised<Result, Failure>()
        Task(executorPreference: self) {
            do throws(Failure) {
                promised.keep(.success(try await work()))
            } catch {
                promised.keep(.failure(error))
            }
            self.rouse()
        }
        var result = promised.result
        run(until: {
            result = promised.result
            return result != nil
        })
        guard let result else { preconditionFailure("it runs until there is a result") }
        return try result.get()
    }

    /// Runs the jobs that are ready, without waiting: cancelled tasks end and release what they
    /// hold. Tasks that always have more jobs run for at most 16 rounds.
    public func doReady() {
        occupy()
        defer { leave() }
        for _ in 0..<16 where !doJobs() { return }
    }

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.jobs.append(job) }
        rouse()
    }

    private func run(until isOver: () -> Bool) {
        occupy()
        defer { leave() }
        while true {
            doJobs()
            if isOver() { return }
            // Checks the descriptors after each round of jobs, even if there are more jobs.
            wait()
        }
    }

    private func occupy() {
        state.withLock { state in
            precondition(!state.isRunning, "one thread runs it at a time")
            state.isRunning = true
        }
    }

    private func leave() { state.withLock { $0.isRunning = false } }

    /// Runs the jobs in the queue; returns false if there were none.
    @discardableResult
    private func doJobs() -> Bool {
        let jobs = state.withLock { state in
            defer { state.jobs = [] }
            return state.jobs
        }
        for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
        return !jobs.isEmpty
    }

    /// Sleeps until a descriptor is ready, an alarm is due or there is a job, and notifies the
    /// listeners.
    private func wait() {
        let patience = state.withLock { state in
            state.isAsleep = state.jobs.isEmpty
            return state.isAsleep ? state.alarms.patience(at: .now) : 0
        }
        var ready = [Int32](repeating: -1, count: Int(CLINUX_MOST_READY))
        let count = clinux_poll_wait(poll, &ready, patience)
        let news = state.withLock { state in
            state.isAsleep = false
            // epoll_wait(2) fails when a signal interrupts it, and otherwise only for wrong
            // arguments. The count of `wake` need not be read, because each arrival is reported
            // once.
            return ready.prefix(Int(max(count, 0))).compactMap { state.sources[$0]?() }
                + state.alarms.takeDue(at: .now)
        }
        news.forEach { $0() }
    }

    /// Wakes the thread for its jobs, if it sleeps.
    private func rouse() {
        let isAsleep = state.withLock { state in
            defer { state.isAsleep = false }
            return state.isAsleep
        }
        if isAsleep { wake.ring() }
    }

    // MARK: Listening

    /// Returns a stream of the elements of all sources, which ends with its consumer. Of the
    /// elements that come before one is taken, only the last stays.
    ///
    /// The stream closes the descriptors. A source that cannot be watched stays silent.
    func elements<Element: Sendable>(
        of sources: [EventSource<Element>]
    ) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Element.self, bufferingPolicy: .bufferingNewest(1))
        for source in sources {
            listen(to: source.descriptor) {
                guard let element = source.take() else { return nil }
                return { _ = continuation.yield(element) }
            }
        }
        let descriptors = sources.map(\.descriptor)
        continuation.onTermination = { @Sendable [weak self] _ in self?.ignore(descriptors) }
        return stream
    }

    /// Returns a stream that ends after `span`, or with its consumer. It needs no descriptor.
    func alarm(after span: Duration) -> AsyncStream<Never> {
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        let number = state.withLock { state in
            state.alarms.add(due: .now + span) { continuation.finish() }
        }
        continuation.onTermination = { @Sendable [weak self] _ in
            self?.state.withLock { $0.alarms.remove(number) }
        }
        rouse()
        return stream
    }

    private func listen(to descriptor: Int32, _ take: @escaping Take) {
        state.withLock { state in
            state.sources[descriptor] = take
            _ = clinux_poll_add(poll, descriptor, 0)
        }
    }

    private func ignore(_ descriptors: [Int32]) {
        // Under the lock, so that no descriptor is closed while it is read.
        state.withLock { state in
            for descriptor in descriptors {
                state.sources[descriptor] = nil
                _ = clinux_poll_remove(poll, descriptor)
                close(descriptor)
            }
        }
    }
}

/// The machine's own clock, which sleeps by means of an event thread.
public struct EventClock: WallClock {
    private let events: EventThread
    private let machine = SystemClock()

    /// Creates a clock whose sleeps end only while `events` runs.
    public init(_ events: EventThread) { self.events = events }

    public var now: Instant { machine.now }

    /// The time since the machine started, suspend included.
    public var elapsed: Duration { machine.elapsed }

    /// Returns after `span` of elapsed time, suspend included, or at once if the task is cancelled
    /// or `span` is not positive.
    ///
    /// More than 100 years count as 100 years. If the process is out of descriptors for a timer,
    /// the sleep ends up to a minute late after a suspend. `SystemClock` cannot replace the timer:
    /// it sleeps by means of libdispatch, which needs a descriptor too and traps without one.
    public func sleep(for span: Duration) async {
        guard span > .zero else { return }
        let longest = Duration.seconds(100 * 366 * 86_400)
        let bounded = min(span, longest)
        let (seconds, attoseconds) = bounded.components
        // A timer that is set to zero never fires.
        let nanoseconds = max(Int(attoseconds / 1_000_000_000), seconds == 0 ? 1 : 0)
        let timer = clinux_timer_after(Int(seconds), nanoseconds)
        guard timer >= 0 else {
            for await _ in events.alarm(after: bounded) {}
            return
        }
        for await _ in events.elements(of: [.counter(timer) { _ in }]) { return }
    }
}

/// The result of a task, once there is one.
private final class Promised<Value: Sendable, Failure: Error>: Sendable {
    private let kept = Mutex<Result<Value, Failure>?>(nil)

    var result: Result<Value, Failure>? { kept.withLock { $0 } }

    func keep(_ result: Result<Value, Failure>) { kept.withLock { $0 = result } }
}

/// The timers that an event thread keeps itself, for a process that is out of descriptors for a
/// timerfd(2).
///
/// The timeout of epoll_wait(2) does not count suspend, but these instants do. So the thread never
/// waits longer than a minute, and after a suspend an alarm is at most a minute late.
struct Alarms {
    private struct Alarm {
        var due: ContinuousClock.Instant
        var ring: @Sendable () -> Void
    }

    private var alarms: [UInt64: Alarm] = [:]
    private var lastNumber: UInt64 = 0

    /// Adds an alarm and returns its number, with which it can be removed.
    mutating func add(
        due: ContinuousClock.Instant, ring: @escaping @Sendable () -> Void
    ) -> UInt64 {
        lastNumber += 1
        alarms[lastNumber] = Alarm(due: due, ring: ring)
        return lastNumber
    }

    /// Removes an alarm. Has no effect if it has rung.
    mutating func remove(_ number: UInt64) { alarms[number] = nil }

    /// Returns how long to sleep in milliseconds, rounded up, as epoll_wait(2) takes it: -1, which
    /// is forever, without an alarm, and at most a minute with one.
    func patience(at now: ContinuousClock.Instant) -> Int32 {
        guard let due = alarms.values.map(\.due).min() else { return -1 }
        let span = min(max(due - now, .zero), .seconds(60))
        let (seconds, attoseconds) = span.components
        let unit: Int64 = 1_000_000_000_000_000
        return Int32(clamping: seconds * 1000 + (attoseconds + unit - 1) / unit)
    }

    /// Removes the alarms that are due and returns their functions to call, so each rings once.
    mutating func takeDue(at now: ContinuousClock.Instant) -> [@Sendable () -> Void] {
        guard !alarms.isEmpty else { return [] }
        let due = alarms.filter { $0.value.due <= now }
        for number in due.keys { alarms[number] = nil }
        return due.values.map(\.ring)
    }
}

/// A descriptor that becomes readable when something has happened.
struct EventSource<Element: Sendable>: Sendable {
    /// Open and non-blocking. The listener closes it.
    var descriptor: Int32
    /// Reads everything that is pending; returns `nil` if none of it matters.
    ///
    /// The listening thread calls it, one call at a time. It must not block and must not start to
    /// listen.
    var take: @Sendable () -> Element?
}

extension EventSource {
    /// Creates a source for a timerfd(2) or an eventfd(2). `make` gets the count, which each read
    /// resets.
    static func counter(
        _ descriptor: Int32, _ make: @escaping @Sendable (UInt64) -> Element
    ) -> EventSource {
        EventSource(descriptor: descriptor) {
            var count: UInt64 = 0
            let size = MemoryLayout<UInt64>.size
            return read(descriptor, &count, size) == size ? make(count) : nil
        }
    }
}

/// An eventfd(2) that wakes any number of listeners.
final class Bell: Sendable {
    /// -1 if the process is out of descriptors.
    let descriptor = clinux_eventfd()

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Wakes every listener.
    func ring() {
        var one: UInt64 = 1
        if descriptor >= 0 { _ = write(descriptor, &one, MemoryLayout<UInt64>.size) }
    }

    /// Opens a source that has an element whenever the bell has rung; the first may be for an
    /// earlier ring. `nil` if the process is out of descriptors.
    func source() -> EventSource<Void>? {
        let listener = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        // The count is not read, because other listeners need it. Each ring is reported once
        // anyway.
        return listener < 0 ? nil : EventSource(descriptor: listener) { () }
    }
}

/// The signals with which people and services control a program.
extension EventThread {
    /// Returns a stream with an element whenever the process receives signal `number`, which has no
    /// other effect from now on. Signals that come before an element is taken are one element.
    ///
    /// If the process is out of descriptors, the signal keeps its effect.
    public func signals(_ number: Int32) -> AsyncStream<Void> {
        elements(of: sources([number], endingAtSecond: false) { _ in })
    }

    /// Returns a stream with what `element` makes of the first SIGINT or SIGTERM that the process
    /// receives. A second signal of either kind ends the process at once with status 128 plus its
    /// number, even while this thread is busy.
    ///
    /// The listening thread calls `element`. If the process is out of descriptors, the signals keep
    /// their effect.
    public func termination<Element: Sendable>(
        _ element: @escaping @Sendable (_ number: Int32) -> Element
    ) -> AsyncStream<Element> {
        elements(of: sources([SIGINT, SIGTERM], endingAtSecond: true, element))
    }

    private func sources<Element>(
        _ numbers: [Int32], endingAtSecond: Bool,
        _ element: @escaping @Sendable (Int32) -> Element
    ) -> [EventSource<Element>] {
        numbers.compactMap { number in
            let descriptor = clinux_announce_signal(number, endingAtSecond ? 1 : 0)
            guard descriptor >= 0 else { return nil }
            return .counter(descriptor) { _ in element(number) }
        }
    }
}
