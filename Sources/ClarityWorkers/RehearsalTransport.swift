import ClarityClient
public import ClarityTransport
public import ClarityContract
public import ClarityJobs
import JSON
import Synchronization

/// Shows each request instead of sending it, and answers as a backend that has no data and accepts
/// everything.
///
/// It opens no socket. Pulls end after their first page, because the next page depends on the
/// answer. Uploads are accepted as a whole, so that every batch is shown.
public final class RehearsalTransport: HTTPTransport {
    private let user: Session?
    private let show: @Sendable (String) -> Void
    private let count = Mutex(0)

    /// Creates a transport.
    ///
    /// - Parameters:
    ///   - user: the session of the user, for answers that name the account.
    ///   - show: called with a block of lines for each request.
    public init(user: Session?, show: @escaping @Sendable (String) -> Void) {
        self.user = user
        self.show = show
    }

    /// The number of requests that were shown.
    public var requests: Int { count.withLock { $0 } }

    public func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        // Refuses what the real transport refuses to send, in the same words.
        _ = try Destination(request.url)
        let number = count.withLock { count in
            count += 1
            return count
        }
        let (answer, comment) = self.answer(to: request, number)
        show((lines(of: request) + ["  -> \(comment)"]).joined(separator: "\n"))
        return HTTPResponse(status: request.call == .greeting ? 404 : 200, body: answer)
    }

    private func lines(of request: HTTPRequest) -> [String] {
        var lines = ["\(request.method.rawValue) \(request.url)"]
        lines += request.headers.map { "  \($0)" }
        if let body = request.body {
            lines.append("  body: \(body.count) bytes, blake2b-256 \(contentDigest(body))")
        }
        return lines
    }

    private func answer(
        to request: HTTPRequest, _ number: Int
    ) -> (body: [UInt8], comment: String) {
        var json = JSONWriter()
        let comment: String
        switch request.call {
        case .uploadMetrics:
            let metrics = occurrences(of: "\"metric_id\":", in: request.body ?? [])
            json.object { json in
                json.field("processing_id", "rehearsal-\(number)")
                json.field("accepted_metrics", number: metrics)
            }
            comment = "taken as accepted: \(metrics) metrics"
        case .uploadSamples:
            let samples = occurrences(of: "\"identifier\":", in: request.body ?? [])
            json.object { json in
                json.field("upload_id", "rehearsal-\(number)")
                json.object("samples_received") { $0.field("samples", number: samples) }
            }
            comment = "taken as accepted: \(samples) samples"
        case nil:
            comment = "taken as stored: a place that is not the backend"
        case .refresh:
            json.object { json in
                json.field("access_token", "rehearsal")
                json.field("refresh_token", "rehearsal")
                json.field("expires_in", number: 3600)
            }
            comment = "taken as granted: the session would be renewed"
        case .me:
            json.object { json in
                json.field("user_id", user?.userID ?? "")
                json.field("email", user?.email ?? "")
            }
            comment = "the profile would be kept"
        case .metricsStatus, .samplesStatus:
            json.object { $0.field("status", "processing") }
            comment = "an upload that has ended would be confirmed or returned to the queue"
        case .analyseSteps, .analyseActigraphy:
            json.object { json in
                json.field("analysis_id", "rehearsal-\(number)")
                json.field("status", "processing")
            }
            comment = "taken as begun: its result would be asked for, and kept"
        case .analysis:
            json.object { json in
                json.field("processing_id", "rehearsal")
                json.field("status", "processing")
            }
            comment = "the result of an analysis that has ended would be kept"
        case .generateInsight:
            json.object { json in
                json.field("success", true)
                json.object("data") { $0.field("id", "rehearsal-\(number)") }
            }
            comment = "taken as made: the insight would be kept with its recommendations"
        case .insight:
            json.object { json in
                json.field("success", true)
                json.object("data") { $0.field("status", "generating") }
            }
            comment = "an insight that is ready would be kept in full"
        case .insightHistory:
            json.object { json in
                json.field("success", true)
                json.object("data") { json in
                    json.array("insights") { _ in }
                    json.field("has_more", false)
                }
            }
            comment = "insights would be kept; more pages would follow where the job reads them all"
        case .greeting:
            json.object { _ in }
            comment = "the backend would show its dialect; taken as `blueprint`"
        default:
            json.object { json in
                json.array("data") { _ in }
                json.object("pagination") { $0.field("has_next", false) }
            }
            comment = "rows would be kept; more pages would follow while the backend has some"
        }
        return (json.bytes, comment)
    }

    private func occurrences(of text: String, in bytes: [UInt8]) -> Int {
        let needle = Array(text.utf8)
        var count = 0
        var index = 0
        while index + needle.count <= bytes.count {
            if bytes[index] == needle[0], bytes[index...].starts(with: needle) {
                count += 1
                index += needle.count
            } else {
                index += 1
            }
        }
        return count
    }
}
