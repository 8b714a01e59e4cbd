import ClarityHost
import HealthStore
import ClarityScheduler
import Platform
import Synchronization

/// Turns SIGINT and SIGTERM into requests to drain.
///
/// The first signal asks for a drain. A second one of either kind ends the process at once, as
/// users expect of a second Ctrl-C; the next scheduler rescues its runs.
struct TerminationSignals: Sendable {
    /// A drain request for the first signal.
    let events: AsyncStream<Planner.Event>
    private let first = First()

    init(on events: EventThread) {
        self.events = events.termination { [first] number in
            first.note(ExitStatus(rawValue: 128 + number))
            return .drain
        }
    }

    /// The exit status for the first signal; `nil` if none came.
    var received: ExitStatus? { first.status }

    /// Tells a person who pressed Ctrl-C what is kept of these jobs. A service that is stopped says
    /// nothing: its manager does.
    func sayInterrupted(_ jobs: [Job], _ console: Console) {
        guard received == .interrupted else { return }
        let sends = jobs.contains { $0.kind == .bulkUpload }
        console.note(
            "clarity-jobs: interrupted; "
                + (sends
                    ? "what was not sent stays in the outbox"
                    : "the next `loop` or `run --due` tries again what had begun"))
    }

    private final class First: Sendable {
        private let kept = Mutex<ExitStatus?>(nil)

        var status: ExitStatus? { kept.withLock { $0 } }

        func note(_ status: ExitStatus?) { kept.withLock { $0 = status } }
    }
}
