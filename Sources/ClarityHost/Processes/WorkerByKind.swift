public import ClarityScheduler
import Synchronization

/// Gives the attempts of some kinds to workers of their own.
public struct WorkerByKind: Worker {
    private let kinds: [JobKind: any Worker]
    private let others: any Worker
    private let running: RunningAttempts

    /// Creates a worker that dispatches to others.
    ///
    /// - Parameters:
    ///   - kinds: the workers of these kinds.
    ///   - others: the worker of all other kinds.
    ///   - attempts: called with the number of running attempts whenever it changes; must not
    ///     block.
    public init(
        _ kinds: [JobKind: any Worker], others: any Worker,
        attempts: @escaping @Sendable (_ running: Int) -> Void = { _ in }
    ) {
        self.kinds = kinds
        self.others = others
        running = RunningAttempts(attempts)
    }

    public func run(
        _ order: AttemptOrder, signals: AsyncStream<AttemptSignal>,
        progress: @escaping @Sendable (_ done: Int64, _ total: Int64) -> Void
    ) async -> AttemptEnd {
        running.change(by: 1)
        defer { running.change(by: -1) }
        return await (kinds[order.kind] ?? others).run(
            order, signals: signals, progress: progress)
    }
}
