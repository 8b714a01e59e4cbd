import Glibc

/// Starts threads that nobody waits for.
enum DetachedThread {
    /// Runs `body` on a thread of its own, on which all signals are blocked. A write there to a
    /// pipe without a reader fails with EPIPE.
    ///
    /// - Returns: 0, or the error number if the system gave no thread. Then `body` is not called.
    static func start(_ body: @escaping @Sendable () -> Void) -> Int32 {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        pthread_attr_setstacksize(&attributes, 512 << 10)
        let retained = Unmanaged.passRetained(Work(body))
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
        if code != 0 { retained.release() }
        return code
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
