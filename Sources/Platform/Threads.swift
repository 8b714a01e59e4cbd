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
