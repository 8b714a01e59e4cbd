import ClarityJobs
import ClarityScheduler

extension APIClient {
    /// Sends what `build` makes of the requests and of a token, where the call takes one along;
    /// renews the session once when the backend refuses it.
    ///
    /// A token that is refused again right after its renewal ends the call, not the stored session:
    /// the backend has just confirmed that one.
    func answer(
        to call: APICall,
        _ build: (APIRequests, Secret?) throws(APIError) -> HTTPRequest
    ) async throws(APIError) -> [UInt8] {
        let requests = try await requests
        guard try requests.dialect.route(call).isAuthorized else {
            return try await exchange(build(requests, nil)).body
        }
        let session = try await self.session(for: call) { () async throws(APIError) in
            try await self.session()
        }
        return try await authorized(build(requests, session.accessToken), by: session).body
    }

    /// Makes sure of the dialect and of a session: what a call fails with afterwards is about the
    /// call itself.
    public func prepare() async throws(APIError) {
        _ = try await requests
        _ = try await session()
    }

    /// What leaves something at the backend, and must not be thought to have arrived when it never
    /// left.
    private static var leaving: Set<APICall> {
        [.uploadMetrics, .uploadSamples, .analyseSteps, .analyseActigraphy, .generateInsight]
    }

    /// The session for a call that is yet to be made, or was refused for its token. Whatever
    /// renewing it fails with, what the call brings did not arrive, and is not why.
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

    /// Sends a request that carries the token of `session`; renews the session once when the
    /// backend refuses it.
    func authorized(
        _ request: HTTPRequest, by session: Session
    ) async throws(APIError) -> HTTPResponse {
        do throws(APIError) {
            return try await exchange(request, by: session)
        } catch .unauthorized {
            let renewed = try await self.session(for: request.call) { () async throws(APIError) in
                try await self.renewed(insteadOf: session)
            }
            do throws(APIError) {
                return try await exchange(
                    request.authorized(by: renewed.accessToken), by: renewed)
            } catch .unauthorized {
                let isCertain = try await requests.dialect.refusalOfTokenIsCertain
                throw isCertain ? .sessionEnded : .tokenUnclear
            }
        }
    }

    /// Sends a request until it is answered with success or its tries are used up.
    ///
    /// A request that must not be made twice is sent again only after errors that say that it did
    /// not arrive. One of a call of which the backend counts the requests is not sent again once it
    /// was answered: whoever keeps to a budget counts one request a call. And one that carries the
    /// token of a session is not sent again after a logout.
    func exchange(
        _ request: HTTPRequest, by session: Session? = nil
    ) async throws(APIError) -> HTTPResponse {
        let dialect = try await requests.dialect
        let call = request.call ?? .greeting
        let route = try dialect.route(call)
        if [.uploadMetrics, .uploadSamples].contains(call) { refusalWords = nil }
        do throws(APIError) {
            return try await repeated(
                request, by: session, isRepeatable: route.isRepeatable,
                isCounted: route.window != nil
            ) { response, now in
                let error = dialect.error(in: response, to: call, now: now)
                if [.uploadMetrics, .uploadSamples].contains(call) {
                    refusalWords = error.map { _ in RefusalWords(FaultReport(response.body)) }
                }
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
                error = APIError(failure)
            }
            guard mayGoAgain,
                let wait = error.waitInCall(
                    afterTries: tries, unit: retryWait, isRepeatable: isRepeatable)
            else { throw error }
            if Task.isCancelled { throw .cancelled }
            await clock.sleep(for: wait)
            if Task.isCancelled { throw .cancelled }
            // What the request came to so far stays the answer: it may have arrived.
            if let session, try kept()?.userID != session.userID { throw error }
        }
    }
}
