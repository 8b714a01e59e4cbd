import ClarityScheduler
import Platform
import Synchronization

/// Shows whether the thread on which a loop decides still comes round.
///
/// A loop proves by a session of its own that it lives, and that session has a thread of its own. A
/// loop that is stuck would prove it for ever, and no other loop would decide in its place.
public final class LoopPulse: Sendable {
    /// How long the deciding thread may take to come round; by default twice the time that a decision
    /// waits for the database.
    let longest: Duration

    /// The mark of the newest session by which the process has proved that it lives.
    let newestMark = Mutex<String?>(nil)
    private let ask: @Sendable (_ answer: @escaping @Sendable () -> Void) -> Void
    /// When the question was asked that has no answer yet, in milliseconds awake; `Int64.max` if
    /// every question has its answer.
    private let askedAt = Atomic(Int64.max)

    /// Creates the pulse of a loop that decides on `events`.
    public convenience init(of events: EventThread) {
        self.init { answer in
            Task(executorPreference: events) { answer() }
        }
    }

    /// Creates a pulse.
    ///
    /// - Parameter ask: calls its argument on the thread that decides.
    public init(
        longest: Duration = .seconds(20),
        ask: @escaping @Sendable (_ answer: @escaping @Sendable () -> Void) -> Void
    ) {
        (self.longest, self.ask) = (longest, ask)
    }

    /// Asks the deciding thread for a sign of life, unless it owes one.
    ///
    /// - Returns: for how long it has owed one.
    func silence(at now: Duration = SystemClock().awake) -> Duration {
        let (isFirst, asked) = askedAt.compareExchange(
            expected: .max, desired: now.milliseconds, ordering: .relaxed)
        guard isFirst else { return now - .milliseconds(asked) }
        ask { [weak self] in self?.askedAt.store(.max, ordering: .relaxed) }
        return .zero
    }
}
