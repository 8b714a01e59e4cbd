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
            let code = DetachedThread.start { continuation.resume(returning: .success(body())) }
            if code != 0 {
                continuation.resume(returning: .failure(SystemError("start a thread", code: code)))
            }
        }
        return try outcome.get()
    }
}
