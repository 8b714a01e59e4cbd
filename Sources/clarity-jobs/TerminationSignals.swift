import ClarityScheduler
import Dispatch
@preconcurrency import Glibc
import Synchronization

/// Turns SIGINT and SIGTERM into requests to drain.
///
/// The first asks for a drain; a second of either ends the process at once, as a person expects of
/// a second Ctrl-C: what it ran is rescued by the next.
///
/// `@unchecked`: the sources are set once and may be used from any thread; the rest is Sendable.
final class TerminationSignals: @unchecked Sendable {
    /// A drain for the first signal.
    let events: AsyncStream<Planner.Event>
    private let first = Mutex<ExitStatus?>(nil)
    private let continuation: AsyncStream<Planner.Event>.Continuation
    private let sources: [any DispatchSourceSignal]

    init() {
        (events, continuation) = AsyncStream.makeStream()
        sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            return DispatchSource.makeSignalSource(signal: number)
        }
        for (source, status) in zip(sources, [ExitStatus.interrupted, .terminated]) {
            source.setEventHandler { @Sendable [weak self] in self?.take(status) }
            source.resume()
        }
    }

    /// The status that the first signal asks for; `nil` when none came.
    var received: ExitStatus? { first.withLock { $0 } }

    private func take(_ status: ExitStatus) {
        let isFirst = first.withLock { first in
            defer { first = first ?? status }
            return first == nil
        }
        if isFirst { continuation.yield(.drain) } else { _exit(status.rawValue) }
    }
}
