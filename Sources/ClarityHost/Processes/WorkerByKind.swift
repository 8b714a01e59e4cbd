public import ClarityScheduler
import Synchronization

/// Has the attempts of some kinds done by workers of their own.
public struct WorkerByKind: Worker {
    private let kinds: [JobKind: any Worker]
    private let others: any Worker
    private let running: RunningAttempts

    /// Creates a worker out of several.
    ///
    /// - Parameters:
    ///   - kinds: who does these kinds.
    ///   - others: who does all others.
    ///   - attempts: hears how many attempts run whenever that changes; must not wait.
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
