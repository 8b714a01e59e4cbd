import Platform
import Backend
import HealthModel
import JSON
import Synchronization

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

    /// Returns the answer of a backend that accepts everything, and what a person should know of it.
    private func answer(
        to request: HTTPRequest, _ number: Int
    ) -> (body: String, comment: String) {
        switch request.call {
        case .uploadMetrics:
            let metrics = occurrences(of: "\"metric_id\":", in: request.body ?? [])
            return (
                #"{"processing_id":"rehearsal-\#(number)","accepted_metrics":\#(metrics)}"#,
                "taken as accepted: \(metrics) metrics"
            )
        case .uploadSamples:
            let samples = occurrences(of: "\"identifier\":", in: request.body ?? [])
            return (
                #"{"upload_id":"rehearsal-\#(number)","samples_received":{"samples":\#(samples)}}"#,
                "taken as accepted: \(samples) samples"
            )
        case nil:
            return ("", "taken as stored: a place that is not the backend")
        case .refresh:
            return (
                #"{"access_token":"rehearsal","refresh_token":"rehearsal","expires_in":3600}"#,
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
                #"{"analysis_id":"rehearsal-\#(number)","status":"processing"}"#,
                "taken as begun: its result would be asked for, and kept"
            )
        case .analysis:
            return (
                #"{"processing_id":"rehearsal","status":"processing"}"#,
                "the result of an analysis that has ended would be kept"
            )
        case .generateInsight:
            return (
                #"{"success":true,"data":{"id":"rehearsal-\#(number)"}}"#,
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
