public import ClarityScheduler

/// Why a call to the backend has no result; free of URLs, tokens, bodies and health values.
public enum APIError: Error, Hashable, Sendable {
    /// The backend cannot be reached from here.
    case offline
    /// The connection ended before the whole answer had come.
    case interrupted
    /// There was no answer within the transport's limits.
    case timeout
    /// No trusted connection of TLS 1.3 could be made.
    case tls
    /// There is no answer for a reason that the transport knows better; carries that.
    case transport(TransportError)
    /// Nobody is logged in.
    case notLoggedIn
    /// The backend refused the e-mail address or password of a login, or the token of a call.
    case unauthorized
    /// A login takes a second factor, which a job cannot give.
    case secondFactorRequired
    /// The backend refused the session, and a renewed one.
    case sessionEnded
    /// The backend has met each renewal of the session with an error for a while; the session may
    /// have ended.
    case renewalRefused(status: Int)
    /// Two logins were tried within 15 minutes; carries when the next may be.
    case loginsUsedUp(until: Instant)
    /// The account may not do this.
    case forbidden
    /// The backend has nothing under this id.
    case notFound
    /// The backend has some of this already; carries the metrics that it named.
    case conflict(indices: [Int])
    /// The backend refused what was sent; carries the metrics at fault when it named them.
    case validation(indices: [Int])
    /// The backend refused an upload for the time at which it says to have been sent: this
    /// machine's clock is wrong, or the backend's. No sample is at fault.
    case clockRefused
    /// The request is larger than the backend takes at once.
    case requestTooLarge
    /// The backend wants fewer requests; `after` is its wish when it is a believable one.
    case rateLimited(after: Duration?)
    /// Another status of the 4xx.
    case rejected(status: Int)
    /// The answer sends the request elsewhere.
    case redirected(status: Int)
    /// A status of the 5xx; `after` is the backend's wish when it is a believable one.
    case server(status: Int, after: Duration?)
    /// The answer is not what the contract says; carries the part at fault, never its text.
    case decoding(String)
    /// The answer is larger than is read.
    case tooLarge
    /// The account is locked after refused logins, for as long as this.
    case accountLocked(for: Duration)
    /// The backend refused a login, and says the same when it cannot check one.
    case loginUnclear
    /// The account's e-mail address was never confirmed.
    case emailNotVerified
    /// The backend did not renew a session, and says the same when it is out of order.
    case renewalUnclear
    /// An upload, a recording or a request for an insight was not sent, since the session could not
    /// be renewed; carries why, where that could be taken for a word on what was to be sent.
    indirect case withoutSession(APIError)
    /// A token was refused right after its renewal, by a backend that also does so when it cannot
    /// check one.
    case tokenUnclear
    /// Nobody can register.
    case signupClosed
    /// Somebody has registered with this e-mail address.
    case accountExists
    /// A new password is not what the backend wants of one.
    case passwordRefused
    /// A code from a mail is not the one that was sent.
    case codeRefused
    /// What stands behind the backend is out of reach, whatever status says so; what was sent may
    /// have been kept all the same.
    case unavailable(status: Int)
    /// Something in front of the backend refused the request.
    case blocked
    /// The backend has given up the call.
    case gone
    /// The backend has no path that its dialect must have.
    case noSuchCall(status: Int)
    /// The backend's dialect has no such call or upload route; carries which.
    case notOffered(String)
    /// The backend's answer to a greeting is none of a dialect that is spoken.
    case dialectUnknown
    /// The backend turned out to speak another dialect than was remembered.
    case dialectChanged
    /// The backend could not analyse a recording.
    case analysisFailed
    /// The request must not be sent as it is set up; carries why.
    case refused(String)
    /// The session cannot be read or kept.
    case store(Failure)
    /// libcurl failed; carries its code.
    case library(code: Int)
    /// The task was cancelled.
    case cancelled
}
