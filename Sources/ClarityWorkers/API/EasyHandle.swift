import CCurl

/// One libcurl easy handle: the options of the request at hand.
struct EasyHandle: ~Copyable {
    let pointer: UnsafeMutableRawPointer

    /// - Throws: `TransportError.library` when there is no memory for one.
    init() throws(TransportError) {
        guard let pointer = curl_easy_init() else {
            throw .library(code: Int(CURLE_OUT_OF_MEMORY.rawValue))
        }
        self.pointer = pointer
    }

    deinit { curl_easy_cleanup(pointer) }

    /// Forgets every option; keeps what the handle knows of names and TLS sessions.
    func reset() { curl_easy_reset(pointer) }

    func set(_ option: CURLoption, _ number: Int) throws(TransportError) {
        try check(ccurl_set_long(pointer, option, number))
    }

    func set(_ option: CURLoption, size: Int) throws(TransportError) {
        try check(ccurl_set_size(pointer, option, curl_off_t(size)))
    }

    func set(_ option: CURLoption, _ text: String) throws(TransportError) {
        try check(ccurl_set_text(pointer, option, text))
    }

    /// Sends `fields`, which must live until the transfer is over.
    func send(_ fields: borrowing HeaderList) throws(TransportError) {
        try check(ccurl_set_headers(pointer, fields.pointer))
    }

    /// Makes the request a POST of `body`, which must live until the transfer is over.
    func post(_ body: UnsafeRawBufferPointer) throws(TransportError) {
        try set(CURLOPT_POST, 1)
        try set(CURLOPT_POSTFIELDSIZE_LARGE, size: body.count)
        if let address = body.baseAddress {
            try check(ccurl_set_address(pointer, CURLOPT_POSTFIELDS, address))
        } else {
            // Without any address libcurl would read a body from the standard input.
            try set(CURLOPT_COPYPOSTFIELDS, "")
        }
    }

    /// Hands the answer to `transfer`, which must live until the transfer is over.
    func receive(into transfer: CurlTransfer) throws(TransportError) {
        let address = Unmanaged.passUnretained(transfer).toOpaque()
        try check(ccurl_set_receiver(pointer, CURLOPT_HEADERFUNCTION, curlDidReceiveHead))
        try check(ccurl_set_address(pointer, CURLOPT_HEADERDATA, address))
        try check(ccurl_set_receiver(pointer, CURLOPT_WRITEFUNCTION, curlDidReceiveBody))
        try check(ccurl_set_address(pointer, CURLOPT_WRITEDATA, address))
    }

    /// What libcurl knows of the last transfer.
    func number(_ info: CURLINFO) throws(TransportError) -> Int {
        var value = 0
        try check(ccurl_get_long(pointer, info, &value))
        return value
    }

    /// The bytes of the body that went out so far; 0 when libcurl cannot tell.
    var uploadedBytes: Int {
        var value: curl_off_t = 0
        return ccurl_get_size(pointer, CURLINFO_SIZE_UPLOAD_T, &value) == CURLE_OK ? Int(value) : 0
    }

    /// The `errno` of the last failed connection; 0 when there is none.
    var systemError: Int32 {
        var value = 0
        let code = ccurl_get_long(pointer, CURLINFO_OS_ERRNO, &value)
        return code == CURLE_OK ? Int32(clamping: value) : 0
    }

    private func check(_ code: CURLcode) throws(TransportError) {
        guard code == CURLE_OK else { throw .library(code: Int(code.rawValue)) }
    }
}

/// The fields of a request in libcurl's form.
struct HeaderList: ~Copyable {
    private(set) var pointer: UnsafeMutablePointer<curl_slist>?

    /// Checks and takes `headers` in their order.
    ///
    /// - Throws: `TransportError.refused` for a name that is no token of RFC 9110, and for a value
    ///   that is empty or holds a control character: a line break would begin a field of its own.
    init(_ headers: [HTTPHeader]) throws(TransportError) {
        pointer = nil
        for header in headers {
            guard HeaderList.isName(header.name) else {
                throw .refused("a header's name is no HTTP token")
            }
            guard HeaderList.isValue(header.text) else {
                throw .refused("the header `\(header.name)` is empty or holds a control character")
            }
            try append("\(header.name): \(header.text)")
        }
        // A name without value takes a field away: libcurl would wait a second for permission to
        // send a larger body, from servers that know nothing of it.
        try append("Expect:")
    }

    deinit { curl_slist_free_all(pointer) }

    private mutating func append(_ line: String) throws(TransportError) {
        guard let longer = curl_slist_append(pointer, line) else {
            throw .library(code: Int(CURLE_OUT_OF_MEMORY.rawValue))
        }
        pointer = longer
    }

    private static func isName(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    private static func isValue(_ value: String) -> Bool {
        !value.isEmpty && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}
