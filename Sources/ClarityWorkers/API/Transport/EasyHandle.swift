import CCurl
import Glibc

/// One libcurl easy handle: the options of the request at hand.
final class EasyHandle {
    let pointer: UnsafeMutableRawPointer
    /// Where libcurl writes what went wrong; read here, and never shown.
    private let fault = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    /// - Throws: `TransportError.library` when there is no memory for one.
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

    /// Forgets every option; keeps what the handle knows of names and TLS sessions.
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

    /// Sets a text, or with `nil` what libcurl has in its place.
    func set(_ option: CURLoption, _ text: String?) throws(TransportError) {
        try check(ccurl_set_text(pointer, option, text))
    }

    /// What every request asks of libcurl: http and https alone, no redirect followed, no proxy to
    /// this machine, and certificates checked.
    func secure(for destination: Destination, floor: Int) throws(TransportError) {
        // Without it libcurl bounds name resolution with SIGALRM, which other threads would get.
        try set(CURLOPT_NOSIGNAL, 1)
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_FOLLOWLOCATION, 0)
        try set(CURLOPT_PATH_AS_IS, 1)
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        try set(CURLOPT_SSL_VERIFYHOST, 2)
        try set(CURLOPT_SSLVERSION, floor)
        // A proxy sees where a tunnel goes, never what goes through it, and what it says while it
        // makes one is not the answer.
        try set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        // An empty name is no proxy, whatever the environment says.
        if destination.isLoopback { try set(CURLOPT_PROXY, "") }
        try check(ccurl_set_opener(pointer, curlWillOpen))
        // Who gives up must not wait for a resolver that does not answer.
        try check(ccurl_set_quick_exit(pointer))
    }

    /// Sends `fields`, which must live until the transfer is over.
    func send(_ fields: borrowing HeaderList) throws(TransportError) {
        try check(ccurl_set_headers(pointer, fields.pointer))
    }

    /// Makes the request a POST of a copy of `body`.
    func post(_ body: [UInt8]) throws(TransportError) {
        try set(CURLOPT_POST, 1)
        try set(CURLOPT_POSTFIELDSIZE_LARGE, size: body.count)
        let code = body.withUnsafeBytes { bytes in
            // Without any address libcurl would read a body from the standard input.
            bytes.baseAddress.map { ccurl_set_address(pointer, CURLOPT_COPYPOSTFIELDS, $0) }
                ?? ccurl_set_text(pointer, CURLOPT_COPYPOSTFIELDS, "")
        }
        try check(code)
    }

    /// Makes the request a POST of what `sender` gives, which must live until the transfer is over.
    func post(from sender: CurlSender) throws(TransportError) {
        let address = Unmanaged.passUnretained(sender).toOpaque()
        try set(CURLOPT_POST, 1)
        try set(CURLOPT_POSTFIELDSIZE_LARGE, size: sender.count)
        try check(ccurl_set_reader(pointer, curlWillSend))
        try check(ccurl_set_address(pointer, CURLOPT_READDATA, address))
        try check(ccurl_set_seeker(pointer, curlWillRewind))
        try check(ccurl_set_address(pointer, CURLOPT_SEEKDATA, address))
    }

    /// Hands the answer to `transfer`, which must live until the transfer is over.
    func receive(into transfer: CurlTransfer) throws(TransportError) {
        let address = Unmanaged.passUnretained(transfer).toOpaque()
        try check(ccurl_set_receiver(pointer, CURLOPT_HEADERFUNCTION, curlDidReceiveHead))
        try check(ccurl_set_address(pointer, CURLOPT_HEADERDATA, address))
        try check(ccurl_set_receiver(pointer, CURLOPT_WRITEFUNCTION, curlDidReceiveBody))
        try check(ccurl_set_address(pointer, CURLOPT_WRITEDATA, address))
    }

    /// The status of the answer.
    func status() throws(TransportError) -> Int {
        var value = 0
        try check(ccurl_get_long(pointer, CURLINFO_RESPONSE_CODE, &value))
        return value
    }

    /// Whether there is a connection, name and TLS included, over which the request goes.
    var isConnected: Bool { size(CURLINFO_PRETRANSFER_TIME_T) > 0 }

    /// The bytes of the body that went out so far; 0 when libcurl cannot tell.
    var uploadedBytes: Int { size(CURLINFO_SIZE_UPLOAD_T) }

    /// What is known of a transfer that ended with `code`.
    func verdict(_ code: CURLcode, _ transfer: CurlTransfer) -> CurlVerdict {
        // The reasons of OpenSSL: the other end's alert, and our own about what it chose.
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
    /// A socket that is connected to no address has no connection (connect(2)), and nothing to read.
    func dropConnection() {
        var socket = curl_socket_t(-1)
        var nowhere = sockaddr(sa_family: sa_family_t(AF_UNSPEC), sa_data: sockaddr().sa_data)
        guard ccurl_get_socket(pointer, CURLINFO_ACTIVESOCKET, &socket) == CURLE_OK, socket >= 0
        else { return }
        // It fails only where there is no connection any more.
        connect(socket, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
    }

    /// 0 when libcurl cannot tell.
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

/// A `CURLOPT_OPENSOCKETFUNCTION` whose sockets stay with this process: a program that is started
/// meanwhile would hold a connection open that is closed here.
private func curlWillOpen(
    _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype,
    _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let address = address?.pointee else { return CURL_SOCKET_BAD }
    let type = address.socktype | Int32(SOCK_CLOEXEC.rawValue)
    return socket(address.family, type, address.protocol)
}
