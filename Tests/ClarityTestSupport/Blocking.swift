import Dispatch

/// Runs `body`, which may block, on a thread of its own.
///
/// The tests share two threads on a small machine. A test that blocks there for another one
/// deadlocks as soon as a second test does the same.
public func blocking<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        // A queue of its own has a thread of its own. The global queues have as many threads as
        // there are processors.
        DispatchQueue(label: "blocking").async { @Sendable in
            continuation.resume(with: Swift.Result { try body() })
        }
    }
}
