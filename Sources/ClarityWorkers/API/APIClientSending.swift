import ClarityJobs
import ClarityScheduler

extension APIClient {
    /// Sends a request that carries the token of `session`; renews the session once when the
    /// backend refuses it.
    ///
    /// A token that is refused again right after its renewal ends the call, not the stored session:
    /// the backend has just confirmed that one.
    func authorized(
        _ request: HTTPRequest, by session: Session
    ) async throws(APIError) -> HTTPResponse {
        do throws(APIError) {
            return try await exchange(request)
        } catch .unauthorized {
            let renewed = try await renewed(insteadOf: session)
            do throws(APIError) {
                return try await exchange(request.authorized(by: renewed.accessToken))
            } catch .unauthorized {
                throw .sessionEnded
            }
        }
    }

    /// Sends a request until it is answered with success or its tries are used up.
    func exchange(_ request: HTTPRequest) async throws(APIError) -> HTTPResponse {
        var tries = 0
        while true {
            tries += 1
            let error: APIError
            do throws(TransportError) {
                let response = try await transport.send(request)
                guard response.body.count <= APIClient.largestAnswer else {
                    throw .tooLarge(limit: APIClient.largestAnswer)
                }
                guard let fault = APIError(response, now: clock.now) else { return response }
                error = fault
            } catch let failure {
                error = APIError(failure)
            }
            guard let wait = error.waitInCall(afterTries: tries, unit: retryWait) else {
                throw error
            }
            if Task.isCancelled { throw .cancelled }
            await clock.sleep(for: wait)
            if Task.isCancelled { throw .cancelled }
        }
    }
}
