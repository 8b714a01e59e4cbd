import Glibc

/// Runs blocking work on a thread of its own, so that it takes none from Swift's pool, which has
/// one for each processor.
enum AttemptThread {
    /// Returns what `body` returns.
    ///
    /// No signal is delivered to the thread; a write to a pipe that nobody reads fails with EPIPE.
    ///
    /// - Throws: `SystemError` when the system gives no thread; then `body` was not called.
    static func run<Result: Sendable>(
        _ body: @escaping @Sendable () -> Result
    ) async throws(SystemError) -> Result {
        let outcome: Swift.Result<Result, SystemError> = await withCheckedContinuation {
            continuation in
            let work = Work { continuation.resume(returning: .success(body())) }
            if let error = start(work) { continuation.resume(returning: .failure(error)) }
        }
        return try outcome.get()
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    private static func start(_ work: Work) -> SystemError? {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        pthread_attr_setstacksize(&attributes, 512 << 10)
        let retained = Unmanaged.passRetained(work)
        var thread = pthread_t()
        let code = pthread_create(
            &thread, &attributes,
            { argument in
                var signals = sigset_t()
                sigfillset(&signals)
                pthread_sigmask(SIG_SETMASK, &signals, nil)
                if let argument {
                    Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body()
                }
                return nil
            }, retained.toOpaque())
        guard code != 0 else { return nil }
        retained.release()
        return SystemError("start a thread", code: code)
    }
}
