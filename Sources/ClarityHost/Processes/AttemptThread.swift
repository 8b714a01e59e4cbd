import ClaritySystem

/// Runs blocking work on a thread of its own, so that it does not block a thread of Swift's pool,
/// which has one per processor.
enum AttemptThread {
    /// Calls `body` on a new thread, and returns its result.
    ///
    /// The thread receives no signals; a write to a pipe without a reader fails with EPIPE.
    ///
    /// - Throws: `SystemError` if the system cannot create a thread; `body` is then not called.
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
