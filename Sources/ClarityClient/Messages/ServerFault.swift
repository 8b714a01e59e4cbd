package import ClarityContract
import ClarityScheduler
import ClarityTransport

extension APIError {
    /// Creates the error for a request that got no answer.
    package init(_ error: TransportError) {
        switch error {
        case .offline, .nameNotResolved, .couldNotConnect: self = .offline
        case .timeout: self = .timeout
        case .reset, .truncated: self = .interrupted
        case .tls: self = .tls
        case .connectTimeout, .stalled, .proxyRefused, .tlsVersion, .certificateNotTrusted,
            .certificateOutOfDate, .certificateForOtherHost, .pinMismatch:
            self = .transport(error)
        case .authoritiesUnreadable: self = .refused(error.description)
        case .bodyUnreadable: self = .store(Failure(.disk, error.description))
        case .malformed: self = .decoding("it is no HTTP")
        case .badEncoding: self = .decoding("it is not compressed as it says")
        case .tooLarge, .headTooLarge: self = .tooLarge
        case .cancelled: self = .cancelled
        case .refused(let why): self = .refused(why)
        case .library(let code): self = .library(code: code)
        }
    }

    /// Creates the error for an answer, whatever the dialect; `nil` if the answer is a success.
    ///
    /// - Parameter now: the instant from which a date in `Retry-After` is measured.
    init?(_ response: HTTPResponse, now: Instant) {
        guard !(200..<300).contains(response.status) else { return nil }
        self.init(response, FaultReport(response.body), now: now)
    }

    /// Creates the error that an unsuccessful answer means if the dialect has no row for it.
    ///
    /// - Parameter now: the instant from which a date in `Retry-After` is measured.
    init(_ response: HTTPResponse, _ report: FaultReport, now: Instant) {
        let after = RetryAfter.believable(response.headers["retry-after"], now: now)
        switch response.status {
        case 300..<400: self = .redirected(status: response.status)
        case 400: self = APIError(naming: report) ?? .rejected(status: 400)
        case 401: self = .unauthorized
        case 403: self = .forbidden
        case 404: self = .notFound
        case 409:
            let named = APIError(naming: report, isConflict: true)
            self = named ?? .conflict(indices: [])
        case 410: self = .gone
        case 413: self = .requestTooLarge
        case 422: self = APIError(naming: report) ?? .validation(indices: [])
        case 429: self = .rateLimited(after: after)
        case 500...: self = .server(status: response.status, after: after)
        default: self = .rejected(status: response.status)
        }
    }

    /// Creates the error for a refusal of a whole upload that names metrics or the time of sending;
    /// `nil` if it names neither.
    ///
    /// A metric that the backend already has, as after a lost answer, is not at fault. Such
    /// duplicates count only if the backend names nothing else; it names them again once the other
    /// metrics are left out.
    ///
    /// - Parameter isConflict: whether the status says that metrics named without a code are
    ///   duplicates.
    private init?(naming report: FaultReport, isConflict: Bool = false) {
        let refused = report.indices { !$0.isDuplicate && ($0.hasCode || !isConflict) }
        if !refused.isEmpty {
            self = .validation(indices: refused)
        } else if report.namesSendingTime, !isConflict {
            self = .clockRefused
        } else if !report.faults.isEmpty {
            self = .conflict(indices: report.indices)
        } else {
            return nil
        }
    }
}
