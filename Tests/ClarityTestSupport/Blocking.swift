import Dispatch

/// Runs `body`, which may block, on a thread of its own.
///
/// The tests share two threads on a small machine: one test that blocks there for another is a
/// deadlock as soon as a second one does the same.
public func blocking<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        // A queue of its own has a thread of its own; the global ones have as many as processors.
        DispatchQueue(label: "blocking").async { @Sendable in
            continuation.resume(with: Swift.Result { try body() })
        }
    }
}
