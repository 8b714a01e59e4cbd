internal import ClarityScheduler

extension APIError {
    /// Reads why there is no answer.
    init(_ error: TransportError) {
        switch error {
        case .offline, .nameNotResolved, .couldNotConnect: self = .offline
        case .timeout: self = .timeout
        case .reset, .truncated: self = .interrupted
        case .tls: self = .tls
        case .malformed: self = .decoding("it is no HTTP")
        case .tooLarge: self = .tooLarge
        case .cancelled: self = .cancelled
        case .refused(let why): self = .refused(why)
        case .library(let code): self = .library(code: code)
        }
    }

    /// Reads an answer's status; `nil` for an answer that is a success.
    ///
    /// - Parameter now: what a `Retry-After` with a date is measured from.
    init?(_ response: HTTPResponse, now: Instant) {
        let after = RetryAfter.believable(response.headers["retry-after"], now: now)
        switch response.status {
        case 200..<300: return nil
        case 300..<400: self = .redirected(status: response.status)
        case 400:
            let indices = FaultReport(response.body).indices
            self = indices.isEmpty ? .rejected(status: 400) : .validation(indices: indices)
        case 401: self = .unauthorized
        case 403: self = .forbidden
        case 404: self = .notFound
        case 409: self = .conflict(indices: FaultReport(response.body).indices)
        case 413: self = .requestTooLarge
        case 422: self = .validation(indices: FaultReport(response.body).indices)
        case 429: self = .rateLimited(after: after)
        case 500...: self = .server(status: response.status, after: after)
        default: self = .rejected(status: response.status)
        }
    }
}
