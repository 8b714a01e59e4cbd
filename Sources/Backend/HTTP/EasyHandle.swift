import BackendContract
import CCurl
@preconcurrency import Glibc

/// One libcurl easy handle, with the options of the current request.
final class EasyHandle {
    let pointer: UnsafeMutableRawPointer
    /// libcurl writes its error message here. It is read in `verdict` and never shown.
    private let fault = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    /// - Throws: `TransportError.library` if there is no memory for the handle.
    init() throws(TransportError) {
        guard let pointer = curl_easy_init() else {
            fault.deallocate()
            throw .library(code: Int(CURLE_OUT_OF_MEMORY.rawValue))
        }
        self.pointer = pointer
    }

    deinit {
        curl_easy_cleanup(pointer)
        fault.deallocate()
    }

    /// Clears every option; keeps what the handle knows of names and TLS sessions.
    func reset() throws(TransportError) {
        curl_easy_reset(pointer)
        fault.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        try check(ccurl_set_address(pointer, CURLOPT_ERRORBUFFER, fault))
    }

    func set(_ option: CURLoption, _ number: Int) throws(TransportError) {
        try check(ccurl_set_long(pointer, option, number))
    }

    func set(_ option: CURLoption, size: Int) throws(TransportError) {
        try check(ccurl_set_size(pointer, option, curl_off_t(size)))
    }

    /// Sets a text option; `nil` selects libcurl's behaviour without it.
    func set(_ option: CURLoption, _ text: String?) throws(TransportError) {
        try check(ccurl_set_text(pointer, option, text))
    }

    /// Sets the options of every request: http and https alone, no redirects, no proxy to this
    /// machine, and a check of certificates.
    func secure(for destination: Destination, floor: Int) throws(TransportError) {
        // Without it libcurl limits name resolution with SIGALRM, which other threads would
        // receive.
        try set(CURLOPT_NOSIGNAL, 1)
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_FOLLOWLOCATION, 0)
        try set(CURLOPT_PATH_AS_IS, 1)
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        try set(CURLOPT_SSL_VERIFYHOST, 2)
        try set(CURLOPT_SSLVERSION, floor)
        // A proxy sees where a tunnel goes but not what goes through it, and the proxy's own answer
        // while it opens one is not the answer.
        try set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        // An empty name means no proxy, whatever the environment says.
        if destination.isLoopback { try set(CURLOPT_PROXY, "") }
        try check(ccurl_set_opener(pointer, curlWillOpen))
        // A caller that gives up must not wait for a resolver that does not answer.
        try check(ccurl_set_quick_exit(pointer))
    }

    /// Sets the header fields to send; `fields` must live until the transfer is over.
    func send(_ fields: borrowing HeaderList) throws(TransportError) {
        try check(ccurl_set_headers(pointer, fields.pointer))
    }

    /// Makes the request a POST of a copy of `body`.
    func post(_ body: [UInt8]) throws(TransportError) {
        try set(CURLOPT_POST, 1)
        try set(CURLOPT_POSTFIELDSIZE_LARGE, size: body.count)
        let code = body.withUnsafeBytes { bytes in
            // Without any address libcurl would read a body from standard input.
            bytes.baseAddress.map { ccurl_set_address(pointer, CURLOPT_COPYPOSTFIELDS, $0) }
                ?? ccurl_set_text(pointer, CURLOPT_COPYPOSTFIELDS, "")
        }
        try check(code)
    }

    /// Makes the request a POST of what `sender` provides; it must live until the transfer is over.
    func post(from sender: CurlSender) throws(TransportError) {
        let address = Unmanaged.passUnretained(sender).toOpaque()
        try set(CURLOPT_POST, 1)
        try set(CURLOPT_POSTFIELDSIZE_LARGE, size: sender.count)
        try check(ccurl_set_reader(pointer, curlWillSend))
        try check(ccurl_set_address(pointer, CURLOPT_READDATA, address))
        try check(ccurl_set_seeker(pointer, curlWillRewind))
        try check(ccurl_set_address(pointer, CURLOPT_SEEKDATA, address))
    }

    /// Passes the answer to `transfer`, which must live until the transfer is over.
    func receive(into transfer: CurlTransfer) throws(TransportError) {
        let address = Unmanaged.passUnretained(transfer).toOpaque()
        try check(ccurl_set_receiver(pointer, CURLOPT_HEADERFUNCTION, curlDidReceiveHead))
        try check(ccurl_set_address(pointer, CURLOPT_HEADERDATA, address))
        try check(ccurl_set_receiver(pointer, CURLOPT_WRITEFUNCTION, curlDidReceiveBody))
        try check(ccurl_set_address(pointer, CURLOPT_WRITEDATA, address))
    }

    /// Returns the status of the answer.
    func status() throws(TransportError) -> Int {
        var value = 0
        try check(ccurl_get_long(pointer, CURLINFO_RESPONSE_CODE, &value))
        return value
    }

    /// Whether the request has a connection, including name resolution and TLS.
    var isConnected: Bool { size(CURLINFO_PRETRANSFER_TIME_T) > 0 }

    /// The bytes of the body sent so far; 0 if libcurl cannot tell.
    var uploadedBytes: Int { size(CURLINFO_SIZE_UPLOAD_T) }

    /// Returns what libcurl knows of a transfer that ended with `code`.
    func verdict(_ code: CURLcode, _ transfer: CurlTransfer) -> CurlVerdict {
        // OpenSSL's reasons: the other end's alert, and its own error about the other end's choice.
        let text = String(cString: fault)
        let hasNoCommonVersion =
            text.contains("alert protocol version") || text.contains("unsupported protocol")
        return CurlVerdict(
            code: Int(code.rawValue), systemError: Int32(clamping: number(CURLINFO_OS_ERRNO)),
            verification: number(CURLINFO_SSL_VERIFYRESULT),
            proxyStatus: number(CURLINFO_HTTP_CONNECTCODE),
            hasNoCommonVersion: hasNoCommonVersion, wasConnected: isConnected,
            hasBegun: transfer.hasBegun, hasHead: transfer.hasHead,
            bodyLimit: transfer.largestBody, headLimit: transfer.largestHead)
    }

    /// Closes the connection of the last transfer with a reset, if libcurl has kept it.
    ///
    /// Connecting a socket to no address (AF_UNSPEC) dissolves its connection (connect(2)), and
    /// leaves nothing to read.
    func dropConnection() {
        var socket = curl_socket_t(-1)
        var nowhere = sockaddr(sa_family: sa_family_t(AF_UNSPEC), sa_data: sockaddr().sa_data)
        guard ccurl_get_socket(pointer, CURLINFO_ACTIVESOCKET, &socket) == CURLE_OK, socket >= 0
        else { return }
        // Fails only if there is no connection any more.
        connect(socket, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
    }

    /// Returns 0 if libcurl cannot tell.
    private func number(_ info: CURLINFO) -> Int {
        var value = 0
        return ccurl_get_long(pointer, info, &value) == CURLE_OK ? value : 0
    }

    private func size(_ info: CURLINFO) -> Int {
        var value: curl_off_t = 0
        return ccurl_get_size(pointer, info, &value) == CURLE_OK ? Int(value) : 0
    }

    private func check(_ code: CURLcode) throws(TransportError) {
        guard code == CURLE_OK else { throw .library(code: Int(code.rawValue)) }
    }
}

/// A `CURLOPT_OPENSOCKETFUNCTION` whose sockets other programs do not inherit: a program that
/// starts in the meantime would keep a connection open that is closed here.
private func curlWillOpen(
    _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype,
    _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let address = address?.pointee else { return CURL_SOCKET_BAD }
    let type = address.socktype | Int32(SOCK_CLOEXEC.rawValue)
    return socket(address.family, type, address.protocol)
}

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
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_SEND_FAIL_REWIND:
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
