import CCurl
@preconcurrency import Glibc

/// The facts that libcurl reports about a failed transfer.
struct CurlVerdict: Hashable, Sendable {
    /// A `CURLcode`.
    var code: Int
    /// The `errno` of a failed connection attempt, else 0.
    var systemError: Int32 = 0
    /// OpenSSL's verdict on the certificate, an `X509_V_ERR_*`; 0 if it found no fault.
    var verification = 0
    /// The status with which a proxy answered the request for a tunnel, else 0.
    var proxyStatus = 0
    /// Whether the two ends have no version of TLS in common.
    var hasNoCommonVersion = false
    /// Whether there was a connection, including name resolution and TLS.
    var wasConnected = false
    /// Whether part of the final answer was received.
    var hasBegun = false
    /// Whether the whole head of the answer was received.
    var hasHead = false
    /// The most bytes of an answer's body, and of its head.
    var bodyLimit = 0
    var headLimit = 0
}

extension TransportError {
    /// Creates the error that libcurl's verdict on a transfer means.
    init(_ verdict: CurlVerdict) {
        switch CURLcode(rawValue: UInt32(clamping: verdict.code)) {
        case CURLE_COULDNT_RESOLVE_HOST:
            self = .nameNotResolved
        case CURLE_COULDNT_CONNECT:
            let isOffline = [ENETUNREACH, ENETDOWN, EHOSTUNREACH].contains(verdict.systemError)
            self = isOffline ? .offline : .couldNotConnect
        // The proxy's name is not the host's, so this is not `nameNotResolved`.
        case CURLE_PROXY, CURLE_COULDNT_RESOLVE_PROXY:
            self = .couldNotConnect
        case CURLE_OPERATION_TIMEDOUT:
            self = verdict.wasConnected ? .timeout : .connectTimeout
        case CURLE_PARTIAL_FILE:
            self = .truncated
        // libcurl's code for a proxy that answers with a status other than 2xx.
        case CURLE_RECV_ERROR where verdict.isProxyRefusal:
            self = .proxyRefused(status: verdict.proxyStatus)
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR:
            self = verdict.hasBegun ? .truncated : .reset
        case CURLE_SSL_CONNECT_ERROR where verdict.hasNoCommonVersion:
            self = .tlsVersion
        case CURLE_PEER_FAILED_VERIFICATION:
            self.init(verification: verdict.verification)
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            self = .pinMismatch
        case CURLE_SSL_CACERT_BADFILE:
            self = .authoritiesUnreadable
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_USE_SSL_FAILED:
            self = .tls
        case CURLE_BAD_CONTENT_ENCODING:
            self = .badEncoding
        case CURLE_FILESIZE_EXCEEDED:
            self = .tooLarge(limit: verdict.bodyLimit)
        // libcurl's code for a single line that is too long to keep; 100 is the `CURLE_TOO_LARGE`
        // of later versions.
        case CURLE_OUT_OF_MEMORY where verdict.wasConnected && !verdict.hasHead,
            CURLcode(rawValue: 100):
            self = .headTooLarge(limit: verdict.headLimit)
        // The second code is libcurl's for an answer that does not begin with `HTTP/`.
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_HTTP2, CURLE_HTTP2_STREAM:
            self = .malformed
        case CURLE_URL_MALFORMAT:
            self = .refused("the backend's URL is not an absolute URL")
        default:
            self = .library(code: verdict.code)
        }
    }

    /// Creates the error that OpenSSL's verdict on a certificate means (its `x509_vfy.h`): 9 is not
    /// valid yet, 10 is expired, 62 and 64 are for another name or address.
    ///
    /// libcurl compares names itself once OpenSSL accepts the certificate. It does so before it
    /// stores the verdict, which is 1 until then.
    private init(verification: Int) {
        switch verification {
        case 0, 1, 62, 64: self = .certificateForOtherHost
        case 9, 10: self = .certificateOutOfDate
        default: self = .certificateNotTrusted
        }
    }
}

extension CurlVerdict {
    fileprivate var isProxyRefusal: Bool { proxyStatus != 0 && !(200...299).contains(proxyStatus) }
}
