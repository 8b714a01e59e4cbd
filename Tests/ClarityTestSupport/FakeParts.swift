public import ClarityScheduler
import Synchronization

/// A worker in this process whose attempts end as a test says.
public struct FakeWorker: Worker {
    /// The work of an attempt, given its order and the signals to it.
    public typealias Work =
        @Sendable (AttemptOrder, AsyncStream<AttemptSignal>) async -> AttemptEnd

    private let work: Work

    /// Creates a worker.
    public init(_ work: @escaping Work) { self.work = work }

    public func run(
        _ order: AttemptOrder, signals: AsyncStream<AttemptSignal>,
        progress: @escaping @Sendable (Int64, Int64) -> Void
    ) async -> AttemptEnd {
        await work(order, signals)
    }
}

/// Conditions that a test sets, and whose changes are announced.
public final class FakeConditions: ConditionMonitor {
    private let current: Mutex<Conditions>
    private let calls = Mutex(0)
    private let questions = Mutex<[Set<String>]>([])
    private let answers: [String: Bool]
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    /// Creates a monitor that answers `conditions` until a test changes them, and takes the answers
    /// to checks from `answers`. A check without an entry has no answer.
    public init(
        _ conditions: Conditions = .everythingAllowed, checks answers: [String: Bool] = [:]
    ) {
        self.answers = answers
        current = Mutex(conditions)
        (stream, continuation) = AsyncStream.makeStream()
    }

    public func conditions(of accounts: Set<AccountID>) -> Conditions { current.withLock { $0 } }

    /// The checks of each request, in the order of the requests.
    public var asked: [Set<String>] { questions.withLock { $0 } }

    public func ask(_ checks: Set<String>) {
        questions.withLock { $0.append(checks) }
        current.withLock { conditions in
            for check in checks {
                conditions.checks[check] = Conditions.Reading(answers[check], source: "fake")
            }
        }
        continuation.yield()
    }

    /// How often a caller began to listen for changes.
    public var listeners: Int { calls.withLock { $0 } }

    public func changes() -> AsyncStream<Void> {
        calls.withLock { $0 += 1 }
        return stream
    }

    /// Answers `conditions` from now on, and announces the change.
    public func change(to conditions: Conditions) {
        current.withLock { $0 = conditions }
        continuation.yield()
    }
}

/// Collects entries, in order.
public final class Journal<Entry: Sendable>: Sendable {
    private let all = Mutex<[Entry]>([])

    /// Creates an empty journal.
    public init() {}

    public var entries: [Entry] { all.withLock { $0 } }

    public func add(_ entry: Entry) { all.withLock { $0.append(entry) } }
}
