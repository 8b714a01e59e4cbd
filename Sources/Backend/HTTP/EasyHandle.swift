import CCurl
import Glibc

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
