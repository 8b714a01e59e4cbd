import CCurl
@preconcurrency import Glibc

extension TransportError {
    /// Reads libcurl's verdict of a transfer.
    ///
    /// - Parameters:
    ///   - code: a `CURLcode`.
    ///   - systemError: the `errno` of a connection that could not be made, else 0.
    ///   - hasBegun: whether some of the answer had come.
    ///   - limit: the most bytes of an answer's body.
    init(code: Int, systemError: Int32, hasBegun: Bool, limit: Int) {
        switch CURLcode(rawValue: UInt32(clamping: code)) {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            self = .nameNotResolved
        case CURLE_COULDNT_CONNECT:
            let isOffline = [ENETUNREACH, ENETDOWN, EHOSTUNREACH].contains(systemError)
            self = isOffline ? .offline : .couldNotConnect
        case CURLE_PROXY:
            self = .couldNotConnect
        case CURLE_OPERATION_TIMEDOUT:
            self = .timeout
        case CURLE_PARTIAL_FILE:
            self = .truncated
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR:
            self = hasBegun ? .truncated : .reset
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM,
            CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_USE_SSL_FAILED:
            self = .tls
        case CURLE_FILESIZE_EXCEEDED:
            self = .tooLarge(limit: limit)
        // The second is what libcurl says of an answer that does not begin with `HTTP/`.
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING,
            CURLE_HTTP2, CURLE_HTTP2_STREAM:
            self = .malformed
        case CURLE_URL_MALFORMAT:
            self = .refused("the backend's URL is not an absolute URL")
        default:
            self = .library(code: code)
        }
    }
}
