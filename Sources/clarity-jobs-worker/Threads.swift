@preconcurrency import Glibc

/// Starts a thread that may block, apart from the few threads that run tasks. Returns false if no
/// thread can be created.
func startThread(_ body: @escaping @Sendable () -> Void) -> Bool {
    let job = Unmanaged.passRetained(ThreadJob(body))
    var thread = pthread_t()
    let code = pthread_create(
        &thread, nil,
        { context in
            guard let context else { return nil }
            Unmanaged<ThreadJob>.fromOpaque(context).takeRetainedValue().body()
            return nil
        }, job.toOpaque())
    guard code == 0 else {
        job.release()
        return false
    }
    pthread_detach(thread)
    return true
}

private final class ThreadJob: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}
