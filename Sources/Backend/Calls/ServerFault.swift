package import BackendContract
package import ClarityScheduler

extension APIError {
    /// Creates the error for a request that got no answer.
    ///
    /// - Parameter host: the host and port to which it was to go.
    package init(_ error: TransportError, host: String) {
        switch error {
        case .offline, .nameNotResolved, .couldNotConnect, .connectTimeout:
            self = .unreachable(error, host: host)
        case .timeout: self = .timeout
        case .reset, .truncated: self = .interrupted
        case .tls: self = .tls
        case .stalled, .proxyRefused, .tlsVersion, .certificateNotTrusted,
            .certificateOutOfDate, .certificateForOtherHost, .pinMismatch:
            self = .transport(error)
        case .authoritiesUnreadable: self = .refused(error.description)
        case .limited(let after): self = .limitReached(after: after)
        case .limitsUnusable(let why): self = .store(Failure(.disk, why))
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
    /// - Parameter now: the instant from which a date in `Retry-After` is measured if the
    ///   answer has no date.
    init?(_ response: HTTPResponse, now: Instant) {
        guard !(200..<300).contains(response.status) else { return nil }
        self.init(response, FaultReport(response.body), now: now)
    }

    /// Creates the error that an unsuccessful answer means if the dialect has no row for it.
    ///
    /// - Parameter now: the instant from which a date in `Retry-After` is measured if the
    ///   answer has no date.
    init(_ response: HTTPResponse, _ report: FaultReport, now: Instant) {
        // A date is on the server's clock, which its answer shows.
        let date = response.headers["date"].flatMap { HTTPDate.parse($0) }
        let after = RetryAfter.believable(response.headers["retry-after"], now: date ?? now)
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

/// Parses the `Retry-After` field of RFC 9110, section 10.2.3: seconds, or a date.
package enum RetryAfter {
    /// Returns the wait that `field` asks for, at most the longest wait of a job (5 h); `nil` if
    /// that is less than 1 s.
    ///
    /// Some servers send 0 while their limit lasts for minutes. Such values are ignored in favour
    /// of the caller's own schedule.
    package static func believable(_ field: String?, now: Instant) -> Duration? {
        guard let field, let wait = wait(field, now: now), wait >= .seconds(1) else { return nil }
        return min(wait, RetryPolicy.longestMaximum)
    }

    private static func wait(_ field: String, now: Instant) -> Duration? {
        if !field.isEmpty, field.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            // More digits than fit are a long wait too.
            return .seconds(Int32(field) ?? .max)
        }
        return HTTPDate.parse(field).map { $0 - now }
    }
}

/// The dates of HTTP header fields (RFC 9110, section 5.6.7).
package enum HTTPDate {
    /// Parses `Sat, 21 Nov 2026 06:00:00 GMT`, the only form that servers may still send.
    package static func parse(_ field: String) -> Instant? {
        let words = field.split(separator: " ")
        guard words.count == 6, words[5] == "GMT", words[0].hasSuffix(","), let day = Int(words[1]),
            let month = months.firstIndex(of: words[2]), let year = Int(words[3])
        else { return nil }
        let clock = words[4].split(separator: ":").map { Int($0) }
        guard clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2]
        else { return nil }
        let time = CivilTime(
            year: year, month: month + 1, day: day, hour: hour, minute: minute, second: second)
        guard time.isValid, (1970...9999).contains(year) else { return nil }
        return Instant(millisecondsSince1970: time.millisecondsSince1970)
    }

    private static var months: [Substring] {
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    }
}
