import ClarityHost
import ClarityScheduler
import Synchronization

/// Turns SIGINT and SIGTERM into requests to drain.
///
/// The first asks for a drain; a second of either ends the process at once, as a person expects of
/// a second Ctrl-C: what it ran is rescued by the next.
struct TerminationSignals: Sendable {
    /// A drain for the first signal.
    let events: AsyncStream<Planner.Event>
    private let first = First()

    init(on events: EventThread) {
        self.events = events.termination { [first] number in
            first.note(ExitStatus(rawValue: 128 + number))
            return .drain
        }
    }

    /// The status that the first signal asks for; `nil` when none came.
    var received: ExitStatus? { first.status }

    private final class First: Sendable {
        private let kept = Mutex<ExitStatus?>(nil)

        var status: ExitStatus? { kept.withLock { $0 } }

        func note(_ status: ExitStatus?) { kept.withLock { $0 = status } }
    }
}
