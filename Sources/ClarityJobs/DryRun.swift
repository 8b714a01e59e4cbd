import Backend
import HealthStore
public import ClarityScheduler
public import Reports
import Synchronization

/// Runs a worker with a copy of the store and a transport that sends nothing.
///
/// The worker is the real one, so the output shows what it would do: it reads the sources, makes
/// the batches and counts the removals. It sends nothing, and changes nothing in the state
/// directory.
public enum DryRun {
    /// Shows what the order would do, one block of lines at a time.
    ///
    /// - Parameter report: called at the end with what was shown; not called if the
    ///   store cannot be opened.
    /// - Returns: how the work would have ended, as far as that is known without the backend.
    public static func run(
        _ order: AttemptOrder, environment: [String: String], clock: any WallClock,
        show: @escaping @Sendable (String) -> Void, report: (DryRunResult) -> Void = { _ in }
    ) async -> Outcome {
        let shown = Mutex<[String]>([])
        let summary = Summary()
        let showing: @Sendable (String) -> Void = { text in
            shown.withLock { $0.append(text) }
            show(text)
        }
        do {
            let store = try HealthStore.rehearsal(
                of: SectionValues(order.options).state.directory, environment: environment, clock: clock)
            guard order.kind != .notify else {
                try NotifyAttempt.dryRun(
                    order, store, environment: environment, clock: clock, show: showing)
                show("nothing was sent, and nothing was changed")
                report(summary.result(order, requests: 0, shown.withLock { $0 }))
                return .success
            }
            let transport = DryRunTransport(user: try store.sessions.load(), show: showing)
            var order = order
            // Polls once, because nothing changes while nothing is sent.
            order.timeout = .zero
            order.warning = .zero
            let context = try WorkContext(
                order, store, transport, environment: environment, clock: clock,
                report: { summary.take($0) }, isEnding: { false }, isDryRun: true)
            let outcome = await work(context)
            report(summary.result(order, requests: transport.requests, shown.withLock { $0 }))
            show(
                summary.text(
                    order, requests: transport.requests,
                    isRemoval: order.kind == .cleanup))
            return outcome
        } catch {
            return ClarityJobs.outcome(of: error)
        }
    }
}

/// Collects the reports of a dry run.
private final class Summary: Sendable {
    private let reports = Mutex<(tally: Tally, notes: [String])>((Tally(), []))

    func take(_ report: AttemptReport) {
        reports.withLock { reports in
            switch report {
            case .count(let name, let value): reports.tally[name] = value
            case .note(let text): reports.notes.append(text)
            case .progress, .fact, .checkpoint, .happened, .outcome: break
            }
        }
    }

    func result(_ order: AttemptOrder, requests: Int, _ shown: [String]) -> DryRunResult {
        reports.withLock { reports in
            DryRunResult(
                job: order.job, shown: shown, requests: requests, counts: reports.tally,
                notes: reports.notes)
        }
    }

    func text(_ order: AttemptOrder, requests: Int, isRemoval: Bool) -> String {
        reports.withLock { reports in
            var lines = reports.notes
            if !reports.tally.isEmpty {
                lines.append("\(isRemoval ? "would remove" : "would be"): \(reports.tally.summary)")
            }
            lines.append(
                "dry run of `\(order.job)`: \(counted(requests, "requests")) shown, nothing was sent, nothing was changed"
            )
            return lines.joined(separator: "\n")
        }
    }
}
