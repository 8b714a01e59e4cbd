public import BackendContract
import HealthModel
import ClarityScheduler
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
