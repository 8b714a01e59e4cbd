@preconcurrency import Glibc

/// Runs each job of `work` on its own thread and `body` on the caller's, and returns when all have
/// ended.
///
/// Unlike tasks, the jobs may block for any length of time. `body` must make sure that they end,
/// whether it throws or not.
///
/// - Parameter cancel: makes the jobs end; called if not all threads could be started.
/// - Throws: what `body` throws; `SystemError`.
public func withThreads<Result>(
    _ work: [@Sendable () -> Void], cancel: () -> Void, _ body: () throws -> Result
) throws -> Result {
    var threads: [JoinedThread] = []
    defer { threads.forEach { $0.join() } }
    for job in work {
        do throws(SystemError) {
            threads.append(try JoinedThread(job))
        } catch {
            cancel()
            throw error
        }
    }
    return try body()
}

/// A thread that its owner waits for.
public struct JoinedThread: Sendable {
    private let thread: pthread_t

    /// Runs `body` on a thread of its own, on which all signals are blocked.
    ///
    /// - Throws: `SystemError` if the system gave no thread. Then `body` is not called.
    public init(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
        thread = try started(body)
    }

    /// Waits for the end of the thread; call this or `detach` once.
    public func join() { pthread_join(thread, nil) }

    /// Lets the thread end by itself; nobody waits for it.
    public func detach() { pthread_detach(thread) }
}

/// Starts threads that nobody waits for.
public enum DetachedThread {
    /// Runs `body` on a thread of its own, on which all signals are blocked. A write there to a
    /// pipe without a reader fails with EPIPE.
    ///
    /// - Returns: 0, or the error number if the system gave no thread. Then `body` is not called.
    public static func start(_ body: @escaping @Sendable () -> Void) -> Int32 {
        do throws(SystemError) {
            pthread_detach(try started(body))
            return 0
        } catch {
            return error.code
        }
    }
}

/// Far more than the work needs, and far less than the system's default of 8 MiB of address space.
private let stackBytes = 1 << 20

private func started(_ body: @escaping @Sendable () -> Void) throws(SystemError) -> pthread_t {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setstacksize(&attributes, stackBytes)
    // Signals are handled by the threads that wait for them. A new thread inherits the blocked
    // signals.
    var all = sigset_t()
    var former = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &former)
    defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
    let job = Unmanaged.passRetained(ThreadBody(body))
    var thread = pthread_t()
    let code = pthread_create(
        &thread, &attributes,
        { context in
            guard let context else { return nil }
            Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run()
            return nil
        }, job.toOpaque())
    guard code == 0 else {
        job.release()
        throw SystemError("start a thread", code: code)
    }
    return thread
}

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// A bounded first-in, first-out queue between threads.
public final class BlockingQueue<Element: Sendable>: Sendable {
    private struct State: Sendable {
        var waiting: [Element] = []
        var isFinished = false
        var isCancelled = false

        var isClosed: Bool { isFinished || isCancelled }
    }

    private let state = Monitor(State())
    private let room: Int

    /// Creates a queue.
    ///
    /// - Parameter room: how many elements may wait in the queue, at least 1.
    public init(room: Int) {
        precondition(room >= 1, "a queue needs room for an element, got \(room)")
        self.room = room
    }

    /// Adds an element, after waiting until there is room for it.
    ///
    /// - Returns: `false` if the queue is finished or cancelled; the element is dropped.
    public func put(_ element: Element) -> Bool {
        state.change(when: { $0.waiting.count < room || $0.isClosed }) { state in
            guard !state.isClosed else { return false }
            state.waiting.append(element)
            return true
        }
    }

    /// Removes the oldest element, after waiting until there is one.
    ///
    /// - Returns: `nil` if the queue is cancelled, or finished and empty.
    public func take() -> Element? {
        state.change(when: { !$0.waiting.isEmpty || $0.isClosed }) { state in
            state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        }
    }

    /// Ends the queue after the elements that are waiting; `put` adds no more.
    public func finish() { state.change { $0.isFinished = true } }

    /// Ends the queue at once: drops the waiting elements and wakes all blocked threads.
    public func cancel() {
        state.change { state in
            state.isCancelled = true
            state.waiting = []
        }
    }
}

/// A latch that opens once and that threads wait for with a timeout.
public final class Latch: Sendable {
    private let state = Monitor(false)

    /// Creates a closed latch.
    public init() {}

    /// Opens the latch for good.
    public func open() { state.change { $0 = true } }

    /// Waits until the latch is open, at most for so many milliseconds, and returns whether it is.
    public func isOpen(within milliseconds: Int32) -> Bool {
        state.change(when: { $0 }, within: .milliseconds(milliseconds)) { $0 }
    }
}

/// A state that threads change, and whose changes they wait for.
///
/// `@unchecked`: `state` is accessed only while `mutex` is held. The mutex and the condition
/// variable have addresses of their own, which stay valid until the monitor's last reference is
/// gone.
public final class Monitor<State: Sendable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var state: State

    /// Creates a monitor.
    public init(_ state: State) {
        self.state = state
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // A change of the wall clock must not lengthen or shorten a wait.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(changed, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    /// Changes the state once `isReady` holds, and wakes all who wait.
    ///
    /// - Parameter patience: the time after which `change` is called even if `isReady` does not
    ///   hold; `nil` for none.
    public func change<Result>(
        when isReady: (State) -> Bool = { _ in true }, within patience: Duration? = nil,
        _ change: (inout State) -> Result
    ) -> Result {
        let deadline = patience.map { patience in
            let (seconds, attoseconds) = (SystemClock().awake + patience).components
            return timespec(
                tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        }
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !isReady(state) {
            guard var deadline else {
                pthread_cond_wait(changed, mutex)
                continue
            }
            if pthread_cond_timedwait(changed, mutex, &deadline) == ETIMEDOUT { break }
        }
        defer { pthread_cond_broadcast(changed) }
        return change(&state)
    }
}
