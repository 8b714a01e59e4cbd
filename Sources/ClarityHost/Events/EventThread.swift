import CLinux
import Glibc
import Synchronization

/// A thread that waits for descriptors and runs tasks, and sleeps while there is neither.
///
/// A program that is idle must not wake up. As soon as libdispatch has one worker thread it looks
/// after its threads once a second for ever, and Swift's own executor is libdispatch: a program that
/// does all its work in `run` has none, and no thread beside its own. A program with executors of
/// its own listens on `shared`, which waits on one more thread.
public final class EventThread: TaskExecutor {
    /// Takes what waits at a descriptor; what it returns tells the listener.
    private typealias Take = @Sendable () -> (@Sendable () -> Void)?

    private struct State {
        var jobs: [UnownedJob] = []
        var sources: [Int32: Take] = [:]
        var alarms = Alarms()
        /// Whether the thread sleeps, or is about to, and must be woken for a job.
        var isAsleep = false
        var isRunning = false
    }

    private let state = Mutex(State())
    private let poll: Int32
    private let wake: Int32

    /// Makes an event thread, without a thread until `run`; `nil` when the process has no descriptor
    /// left.
    public init?() {
        let (poll, wake) = (clinux_poll(), clinux_eventfd())
        guard poll >= 0, wake >= 0, clinux_poll_add(poll, wake, 0) == 0 else {
            [poll, wake].filter { $0 >= 0 }.forEach { close($0) }
            return nil
        }
        self.poll = poll
        self.wake = wake
    }

    deinit {
        state.withLock { Array($0.sources.keys) }.forEach { close($0) }
        close(poll)
        close(wake)
    }

    /// One that has a thread of its own, started when it is first asked for, which ends with the
    /// process; `nil` when the system gave none.
    public static let shared: EventThread? = {
        guard let events = EventThread() else { return nil }
        return DetachedThread.start { events.run(until: { false }) } == 0 ? events : nil
    }()

    // MARK: Running

    /// Does `work` on the calling thread, with all the tasks that it makes as its children, and
    /// returns what it returns.
    ///
    /// Tasks that `work` leaves behind stay where they are until the next call. One call at a time.
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

    /// Does what is ready, and waits for nothing: tasks that were cancelled end, and let go of what
    /// they held. Of tasks that never rest a few steps.
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
            // Looks at the descriptors after each round of jobs, however many more there are.
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

    /// Does the jobs that there are; false when there were none.
    @discardableResult
    private func doJobs() -> Bool {
        let jobs = state.withLock { state in
            defer { state.jobs = [] }
            return state.jobs
        }
        for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
        return !jobs.isEmpty
    }

    /// Sleeps until a descriptor is ready or there is a job, and tells who listens.
    private func wait() {
        let patience = state.withLock { state in
            state.isAsleep = state.jobs.isEmpty
            return state.isAsleep ? state.alarms.patience(at: .now) : 0
        }
        var ready = [Int32](repeating: -1, count: Int(CLINUX_MOST_READY))
        let count = clinux_poll_wait(poll, &ready, patience)
        let news = state.withLock { state in
            state.isAsleep = false
            // A signal interrupts it; the rest of its errors are those of wrong arguments. The count
            // of `wake` need not be read: each arrival is told once.
            return ready.prefix(Int(max(count, 0))).compactMap { state.sources[$0]?() }
                + state.alarms.takeDue(at: .now)
        }
        news.forEach { $0() }
    }

    /// Lets the thread look at its jobs, if it sleeps.
    private func rouse() {
        let isAsleep = state.withLock { state in
            defer { state.isAsleep = false }
            return state.isAsleep
        }
        var one: UInt64 = 1
        if isAsleep { _ = write(wake, &one, MemoryLayout<UInt64>.size) }
    }

    // MARK: Listening

    /// The elements that sources give, in one stream that ends with its consumer; of those that come
    /// before one is taken the last stays.
    ///
    /// The stream closes the descriptors. A source that cannot be listened to stays silent.
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

    /// A stream that ends after so much time, or with its consumer, and takes no descriptor.
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
        // Under the lock, so that none is closed while it is read.
        state.withLock { state in
            for descriptor in descriptors {
                state.sources[descriptor] = nil
                _ = clinux_poll_remove(poll, descriptor)
                close(descriptor)
            }
        }
    }
}

/// A result that is there once it is kept.
private final class Promised<Value: Sendable, Failure: Error>: Sendable {
    private let kept = Mutex<Result<Value, Failure>?>(nil)

    var result: Result<Value, Failure>? { kept.withLock { $0 } }

    func keep(_ result: Result<Value, Failure>) { kept.withLock { $0 = result } }
}
