import Backend
import BackendContract
import HealthStore
public import ClarityScheduler
public import Reports
import Synchronization
import Platform
import HealthModel
import JSON

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
            let store = try HealthStore.dryRun(
                of: SectionValues(order.options).state.directory, environment: environment,
                clock: clock)
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

/// Shows each request instead of sending it, and answers as a backend that has no data and accepts
/// everything.
///
/// It opens no socket. Pulls end after their first page, because the next page depends on the
/// answer. Uploads are accepted as a whole, so that every batch is shown.
final class DryRunTransport: HTTPTransport {
    private let user: Session?
    private let show: @Sendable (String) -> Void
    private let count = Mutex(0)

    /// Creates a transport.
    ///
    /// - Parameters:
    ///   - user: the session of the user, for answers that name the account.
    ///   - show: called with a block of lines for each request.
    init(user: Session?, show: @escaping @Sendable (String) -> Void) {
        self.user = user
        self.show = show
    }

    /// The number of requests that were shown.
    var requests: Int { count.withLock { $0 } }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        // Refuses what the real transport refuses to send, in the same words.
        _ = try Destination(request.url)
        let number = count.withLock { count in
            count += 1
            return count
        }
        let (answer, comment) = self.answer(to: request, number)
        show((lines(of: request) + ["  -> \(comment)"]).joined(separator: "\n"))
        return HTTPResponse(status: request.call == .greeting ? 404 : 200, body: Array(answer.utf8))
    }

    private func lines(of request: HTTPRequest) -> [String] {
        var lines = ["\(request.method.rawValue) \(request.url)"]
        lines += request.headers.map { "  \($0)" }
        if let body = request.body {
            lines.append("  body: \(body.count) bytes, blake2b-256 \(contentDigest(body))")
        }
        return lines
    }

    /// Returns the answer of a backend that accepts everything, and what a person should know of
    /// it.
    private func answer(
        to request: HTTPRequest, _ number: Int
    ) -> (body: String, comment: String) {
        switch request.call {
        case .uploadMetrics:
            let metrics = occurrences(of: "\"metric_id\":", in: request.body ?? [])
            return (
                #"{"processing_id":"dry-run-\#(number)","accepted_metrics":\#(metrics)}"#,
                "taken as accepted: \(metrics) metrics"
            )
        case .uploadSamples:
            let samples = occurrences(of: "\"identifier\":", in: request.body ?? [])
            return (
                #"{"upload_id":"dry-run-\#(number)","samples_received":{"samples":\#(samples)}}"#,
                "taken as accepted: \(samples) samples"
            )
        case nil:
            return ("", "taken as stored: a place that is not the backend")
        case .refresh:
            return (
                #"{"access_token":"dry-run","refresh_token":"dry-run","expires_in":3600}"#,
                "taken as granted: the session would be renewed"
            )
        case .me:
            let user: JSON = [
                "user_id": .string(user?.userID ?? ""), "email": .string(user?.email ?? ""),
            ]
            return (user.line, "the profile would be kept")
        case .metricsStatus, .samplesStatus:
            return (
                #"{"status":"processing"}"#,
                "an upload that has ended would be confirmed or returned to the queue"
            )
        case .analyseSteps, .analyseActigraphy:
            return (
                #"{"analysis_id":"dry-run-\#(number)","status":"processing"}"#,
                "taken as begun: its result would be asked for, and kept"
            )
        case .analysis:
            return (
                #"{"processing_id":"dry-run","status":"processing"}"#,
                "the result of an analysis that has ended would be kept"
            )
        case .generateInsight:
            return (
                #"{"success":true,"data":{"id":"dry-run-\#(number)"}}"#,
                "taken as made: the insight would be kept with its recommendations"
            )
        case .insight:
            return (
                #"{"success":true,"data":{"status":"generating"}}"#,
                "an insight that is ready would be kept in full"
            )
        case .insightHistory:
            return (
                #"{"success":true,"data":{"insights":[],"has_more":false}}"#,
                "insights would be kept; more pages would follow where the job reads them all"
            )
        case .greeting:
            return ("{}", "the backend would show its dialect; taken as `blueprint`")
        default:
            return (
                #"{"data":[],"pagination":{"has_next":false}}"#,
                "rows would be kept; more pages would follow while the backend has some"
            )
        }
    }

    private func occurrences(of text: String, in bytes: [UInt8]) -> Int {
        bytes.indices.count { bytes[$0...].starts(with: text.utf8) }
    }
}
