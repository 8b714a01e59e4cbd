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
    /// The body to send ended early or could not be read.
    case bodyUnreadable
    /// Nothing was sent: the limits of the backend leave no room before `after`.
    case limited(after: Duration)
    /// Nothing was sent, because the files of the backend's limits cannot be used; carries why.
    case limitsUnusable(String)
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
        case .bodyUnreadable: "what was to be sent could not be read to its end"
        case .limited:
            "this machine sends the backend as much as `backend.max_requests_per_second` and "
                + "`backend.max_connections` allow"
        case .limitsUnusable(let why): why
        case .cancelled: "stopped before it was done"
        case .refused(let why): why
        case .library(let code): "libcurl failed (\(code))"
        }
    }
}
