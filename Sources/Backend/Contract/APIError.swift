public import ClarityScheduler

/// Why a call to the backend has no result. Holds no tokens, bodies or health values, and no
/// URL but its host.
public enum APIError: Error, Hashable, Sendable {
    /// There was no connection to the backend; carries why, and the host and port of its URL.
    case unreachable(TransportError, host: String)
    /// The connection ended before the answer was complete.
    case interrupted
    /// No answer came within the transport's limits.
    case timeout
    /// No trusted TLS 1.3 connection could be made.
    case tls
    /// There is no answer; carries the transport's own reason.
    case transport(TransportError)
    /// Nobody is logged in.
    case notLoggedIn
    /// The backend refused the e-mail address or password of a login, or the token of a call.
    case unauthorized
    /// A login requires a second factor, which a job cannot give.
    case secondFactorRequired
    /// The backend refused to renew the session, or refused it right after its renewal.
    case sessionEnded
    /// Since this time, the backend has answered each renewal of the session with an error; the
    /// session may have ended.
    case renewalRefused(status: Int, since: Instant)
    /// Two logins were tried within 15 minutes; carries when the next one is allowed.
    case loginsUsedUp(until: Instant)
    /// The account is not allowed to do this.
    case forbidden
    /// The backend has nothing with this id.
    case notFound
    /// The backend already has some of the content; carries the metrics that it named.
    case conflict(indices: [Int])
    /// The backend refused the content; carries the metrics at fault if it named them.
    case validation(indices: [Int])
    /// The backend refused an upload because of its time of sending: this machine's clock is wrong,
    /// or the backend's. No sample is at fault.
    case clockRefused
    /// The request is larger than the backend accepts.
    case requestTooLarge
    /// The backend asks for fewer requests; `after` is the wait it asks for, if that is believable.
    case rateLimited(after: Duration?)
    /// Nothing was sent: the limits that this machine keeps towards the backend leave no room.
    case limitReached(after: Duration)
    /// Another 4xx status.
    case rejected(status: Int)
    /// The answer is a redirect.
    case redirected(status: Int)
    /// A 5xx status; `after` is the wait that the backend asks for, if that is believable.
    case server(status: Int, after: Duration?)
    /// The backend failed in a way that is known of its dialect; carries the fault.
    case knownFault(KnownFault, status: Int)
    /// The answer violates the contract; carries the part at fault, never its text.
    case decoding(String)
    /// The answer exceeds the size that is read.
    case tooLarge
    /// The account is locked after refused logins; carries for how long.
    case accountLocked(for: Duration)
    /// The backend refused a login, but answers the same when it cannot check one.
    case loginUnclear
    /// The account's e-mail address is not confirmed.
    case emailNotVerified
    /// The backend did not renew a session, but answers the same during an outage.
    case renewalUnclear
    /// An upload, a recording or a request for an insight was not sent, because the session could
    /// not be renewed. Carries the error of the renewal, which could be taken for one of the
    /// request itself.
    indirect case withoutSession(APIError)
    /// The backend refused a token right after its renewal, but answers the same when it cannot
    /// check one.
    case tokenUnclear
    /// The backend accepts no registrations.
    case signupClosed
    /// An account with this e-mail address already exists.
    case accountExists
    /// The backend has no account with this e-mail address.
    case noSuchUser
    /// A new password was not sent: it breaks the rule that is known beforehand; carries the rule.
    case passwordTooWeak(String)
    /// The backend refused a new password; carries its words about that, without what could be
    /// of the password.
    case passwordRefused(String?)
    /// A code is not the one that was mailed.
    case codeRefused
    /// A service behind the backend is unreachable, whatever the status says; the content may have
    /// been stored all the same.
    case unavailable(status: Int)
    /// Something in front of the backend refused the request.
    case blocked
    /// The backend no longer offers the call.
    case gone
    /// The backend lacks a path that its dialect requires.
    case noSuchCall(status: Int)
    /// The dialect has no such call or upload route; carries which.
    case notOffered(String)
    /// The backend's answer to a greeting fits no dialect.
    case dialectUnknown
    /// The backend speaks another dialect than the remembered one.
    case dialectChanged
    /// The backend could not analyse a recording.
    case analysisFailed
    /// The request must not be sent in this form; carries why.
    case refused(String)
    /// Local data, such as the session, cannot be read or stored.
    case store(Failure)
    /// libcurl failed; carries its code.
    case library(code: Int)
    /// The task was cancelled.
    case cancelled
}

/// A fault that every backend of a dialect has, as far as was measured, and that no user can mend.
public struct KnownFault: Hashable, Sendable {
    /// The part of the backend that has the fault.
    package var subject: String
    /// A lowercase fragment: what is wrong, and what works all the same.
    var words: String

    /// A lowercase fragment for people, without a final period.
    package var sentence: String {
        "a known fault of the backend, nothing for you to mend: \(words)"
    }
}

/// A row of the table that says what an answer means where its status does not.
package struct Meaning: Hashable, Sendable {
    /// The part of a body by which a row recognises it.
    package enum Sign: Hashable, Sendable {
        /// Any body; the status is enough.
        case any
        /// The code in the body.
        case code(String)
        /// The beginning of the sentence in the body.
        case opening(String)
        /// Exactly this body, which is not JSON.
        case plain(String)
        /// A body that is not JSON, and so not the backend's.
        case notJSON
    }

    /// The meaning of the answer.
    package enum Verdict: Hashable, Sendable {
        case error(APIError)
        /// A service behind the backend is unreachable, whatever the status.
        case outage
        /// The content was refused; the metrics that the body names are at fault.
        case refusal
    }

    /// The calls that the row applies to; `nil`: all.
    package var calls: Set<APICall>?
    package var status: Int
    package var sign: Sign
    package var verdict: Verdict

    init(_ calls: Set<APICall>?, _ status: Int, _ sign: Sign, _ verdict: Verdict) {
        self.calls = calls
        self.status = status
        self.sign = sign
        self.verdict = verdict
    }
}

/// Why a request has no complete answer. Holds no URLs, tokens, bodies or header values.
public enum TransportError: Error, Hashable, Sendable {
    /// There is no route to the host.
    case offline
    /// The host's name has no address, or no name server can be reached.
    case nameNotResolved
    /// The host or its proxy accepts no connection.
    case couldNotConnect
    /// The proxy opens no tunnel to the host; carries its status.
    case proxyRefused(status: Int)
    /// There was no connection, including name resolution and TLS, within the limit for it.
    case connectTimeout
    /// No byte was sent or received within the limit for a stall.
    case stalled
    /// The answer was not complete within the limit for the whole request.
    case timeout
    /// The connection ended before any of the answer came.
    case reset
    /// The connection ended within the answer.
    case truncated
    /// No TLS connection could be made, for a reason that has no case of its own.
    case tls
    /// The server supports no version of TLS that is new enough.
    case tlsVersion
    /// The server's certificate was not issued by a trusted authority.
    case certificateNotTrusted
    /// The server's certificate has expired or is not valid yet.
    case certificateOutOfDate
    /// The server's certificate is for another host.
    case certificateForOtherHost
    /// The server's key is not one of the pinned keys.
    case pinMismatch
    /// The certificates of the authorities to trust cannot be read.
    case authoritiesUnreadable
    /// The answer is not HTTP.
    case malformed
    /// The answer's body is not compressed in the way that it says.
    case badEncoding
    /// The body of the answer is larger than is read; carries the limit in bytes.
    case tooLarge(limit: Int)
    /// The head of the answer is larger than is read; carries the limit in bytes.
    case headTooLarge(limit: Int)
    /// Nothing was sent: the limits of the backend leave no room before `after`.
    case limited(after: Duration)
    /// Nothing was sent, because the place of the backend's limits cannot be used; carries why.
    case limitsUnusable(Failure)
    /// The task was cancelled.
    case cancelled
    /// The request must not be sent, and nothing was sent; carries why, without the request's text.
    case refused(String)
    /// libcurl failed in another way; carries its `CURLcode`, or 1000 plus its `CURLMcode`.
    case library(code: Int)
}

extension TransportError: CustomStringConvertible {
    /// A lowercase fragment for people, without a final period.
    public var description: String {
        switch self {
        case .offline: "there is no route to the backend"
        case .nameNotResolved: "the name of the backend's host has no address"
        case .couldNotConnect: "nobody accepts a connection at the backend's address"
        case .proxyRefused(let status): "the proxy makes no way to the backend (\(status))"
        case .connectTimeout: "there was no connection to the backend in time"
        case .stalled: "the connection to the backend stood still for too long"
        case .timeout: "the backend did not answer in time"
        case .reset: "the backend ended the connection without an answer"
        case .truncated: "the backend's answer broke off"
        case .tls: "no TLS connection to the backend could be made"
        case .tlsVersion: "the backend does not speak TLS 1.3"
        case .certificateNotTrusted: "the backend's certificate comes from no trusted authority"
        case .certificateOutOfDate:
            "the backend's certificate has expired or is not valid yet, or this machine's clock is "
                + "wrong"
        case .certificateForOtherHost: "the backend's certificate is for another host"
        case .pinMismatch: "the backend's key is none of `backend.pins`"
        case .authoritiesUnreadable: "the certificates of `backend.ca_bundle` cannot be read"
        case .malformed: "the backend's answer is no HTTP"
        case .badEncoding: "the backend's answer is not compressed as it says"
        case .tooLarge(let limit): "the backend's answer is larger than \(limit) bytes"
        case .headTooLarge(let limit):
            "the head of the backend's answer is larger than \(limit) bytes"
        case .limited:
            "this machine sends the backend as much as `backend.max_requests_per_second` and "
                + "`backend.max_connections` allow"
        case .limitsUnusable(let failure): failure.reason
        case .cancelled: "stopped before it was done"
        case .refused(let why): why
        case .library(let code): "libcurl failed (\(code))"
        }
    }
}
