public import BackendContract
import HealthModel
package import ClarityScheduler
import JSON

extension APIClient {
    /// Makes a call and returns the body of its answer.
    ///
    /// `build` makes the request. It gets an access token if the call needs one, else `nil`. If the
    /// backend refuses the token, the session is renewed once. A token that is refused right after
    /// its renewal ends the call but not the stored session: the backend has just confirmed that
    /// session.
    ///
    /// - Parameter refused: gets each answer that is an error, and `nil` for each that is none.
    func answer(
        to call: APICall, refused: (HTTPResponse?) -> Void = { _ in },
        _ build: (APIRequests, Secret?) throws(APIError) -> HTTPRequest
    ) async throws(APIError) -> [UInt8] {
        let requests = try await requests
        guard try requests.dialect.route(call).isAuthorized else {
            return try await exchange(build(requests, nil), refused: refused).body
        }
        let session = try await self.session(for: call) { () async throws(APIError) in
            try await self.session()
        }
        return try await authorized(
            build(requests, session.accessToken), by: session, refused: refused
        ).body
    }

    /// Makes a call whose request has nothing but an id or a body, and reads its answer.
    func read<Value>(
        _ call: APICall, id: String = "", body: [UInt8]? = nil,
        as value: (JSONPart) throws(JSONPart.Fault) -> Value
    ) async throws(APIError) -> Value {
        let answer = try await answer(to: call) { requests, token throws(APIError) in
            try requests.request(call, id: id, body: body, token: token)
        }
        return try AnswerReader(call).read(answer, value)
    }

    /// Makes sure that the dialect is known and that there is a session, so that a later error is
    /// about the call itself.
    public func prepare() async throws(APIError) {
        _ = try await requests
        _ = try await session()
    }

    /// The calls that leave something at the backend. Their content must not count as in doubt
    /// if it never left this machine.
    private static var leaving: Set<APICall> {
        [.uploadMetrics, .uploadSamples, .analyseSteps, .analyseActigraphy, .generateInsight]
    }

    /// Returns the session for a call that was not made yet, or whose token the backend refused.
    ///
    /// An error of the renewal becomes `withoutSession` if it could be taken for an error of a call
    /// that may have arrived. The call's content did not arrive, and is not the cause.
    private func session(
        for call: APICall?, _ session: () async throws(APIError) -> Session
    ) async throws(APIError) -> Session {
        do throws(APIError) {
            return try await session()
        } catch {
            let leaves = call.map(APIClient.leaving.contains) ?? false
            throw leaves && error.mayHaveArrived ? .withoutSession(error) : error
        }
    }

    /// Sends a request with the token of `session`; renews the session once if the backend refuses
    /// the token.
    func authorized(
        _ request: HTTPRequest, by session: Session,
        refused: (HTTPResponse?) -> Void = { _ in }
    ) async throws(APIError) -> HTTPResponse {
        do throws(APIError) {
            return try await exchange(request, by: session, refused: refused)
        } catch .unauthorized {
            let renewed = try await self.session(for: request.call) { () async throws(APIError) in
                try await self.renewed(insteadOf: session)
            }
            do throws(APIError) {
                return try await exchange(
                    request.authorized(by: renewed.accessToken), by: renewed, refused: refused)
            } catch .unauthorized {
                let isCertain = try await requests.dialect.refusalOfTokenIsCertain
                throw isCertain ? .sessionEnded : .tokenUnclear
            }
        }
    }

    /// Sends a request until the backend answers with success or the tries are used up.
    ///
    /// A request that must not be made twice is sent again only after errors that show that it did
    /// not arrive. If the backend counts the requests of this call, an answered request is not sent
    /// again: budgets count one request for each call. A request with a session's token is not sent
    /// again after a logout.
    func exchange(
        _ request: HTTPRequest, by session: Session? = nil,
        refused: (HTTPResponse?) -> Void = { _ in }
    ) async throws(APIError) -> HTTPResponse {
        let dialect = try await requests.dialect
        let call = request.call ?? .greeting
        let route = try dialect.route(call)
        do throws(APIError) {
            return try await repeated(
                request, by: session, isRepeatable: route.isRepeatable,
                isCounted: route.window != nil
            ) { response, now in
                let error = dialect.error(in: response, to: call, now: now)
                refused(error == nil ? nil : response)
                return error
            }
        } catch {
            throw await explained(error)
        }
    }

    /// Sends a request until `fault` finds no error in its answer or its tries are used up.
    func repeated(
        _ request: HTTPRequest, by session: Session? = nil, isRepeatable: Bool,
        isCounted: Bool = false,
        fault: (HTTPResponse, Instant) -> APIError?
    ) async throws(APIError) -> HTTPResponse {
        var tries = 0
        while true {
            tries += 1
            let error: APIError
            var mayGoAgain = true
            do throws(TransportError) {
                let response = try await transport.send(request)
                guard response.body.count <= APIClient.largestAnswer else {
                    throw .tooLarge(limit: APIClient.largestAnswer)
                }
                guard let found = fault(response, clock.now) else { return response }
                error = found
                mayGoAgain = !isCounted
            } catch let failure {
                error = APIError(failure, host: request.host)
            }
            guard mayGoAgain,
                let wait = error.waitInCall(
                    afterTries: tries, unit: retryWait, isRepeatable: isRepeatable)
            else { throw error }
            if Task.isCancelled { throw .cancelled }
            await clock.sleep(for: wait)
            if Task.isCancelled { throw .cancelled }
            // After a logout, report the last error: that try may have arrived.
            if let session, try storedSession()?.userID != session.userID { throw error }
        }
    }
}

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
        case .limitsUnusable(let failure): self = .store(failure)
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
