import BackendContract
import CCurl
import ClarityScheduler
import HealthModel

/// The settings that all requests of a transport share.
struct CurlSetup: Sendable {
    var userAgent: String
    var limits: CurlTransport.Limits
    var trust: CurlTransport.Trust
}

/// One request in progress, with everything that libcurl holds addresses of.
///
/// Used by the loop's thread only.
final class CurlExchange {
    /// Bodies up to this size are copied and sent in one piece with the head; larger ones are read
    /// while they are sent.
    private static let largestCopy = 64 * 1024

    let job: CurlJob
    let easy: EasyHandle
    private let stall: Duration
    private let fields: HeaderList
    private let transfer: CurlTransfer
    private let sender: CurlSender?
    private var moved = 0
    private var lastMove: ContinuousClock.Instant?

    /// Sets up `easy` for `job`.
    ///
    /// - Throws: `TransportError.refused` if the request must not be sent.
    init(_ job: CurlJob, _ easy: EasyHandle, _ setup: CurlSetup) throws(TransportError) {
        let request = job.request
        let destination = try Destination(
            request.url, allowsPlain: request.allowsPlainHTTP)
        self.job = job
        self.easy = easy
        stall = setup.limits.stall
        fields = try HeaderList(
            request.headers + [HTTPHeader("User-Agent", .plain(setup.userAgent))])
        transfer = CurlTransfer(
            largestBody: setup.limits.answerBytes, largestHead: setup.limits.headBytes)
        sender = request.body.flatMap {
            $0.count > CurlExchange.largestCopy || request.keepsConnection
                ? CurlSender($0, isRewindable: !request.isOnce) : nil
        }
        // Clears every option, including addresses of the last request's objects; keeps TLS
        // sessions.
        try easy.reset()
        try easy.secure(for: destination, floor: Int(CURL_SSLVERSION_TLSv1_3))
        try configure(setup, destination)
        if request.isOnce, !request.keepsConnection {
            try easy.set(CURLOPT_FRESH_CONNECT, 1)
            try easy.set(CURLOPT_FORBID_REUSE, 1)
        }
        try easy.set(CURLOPT_URL, request.url)
        try configureBody(of: request)
        try easy.send(fields)
        try easy.receive(into: transfer)
    }

    private func configure(
        _ setup: CurlSetup, _ destination: Destination
    ) throws(TransportError) {
        try easy.set(CURLOPT_CONNECTTIMEOUT_MS, Int(setup.limits.connect.milliseconds))
        try easy.set(CURLOPT_TIMEOUT_MS, Int(setup.limits.total.milliseconds))
        try easy.set(CURLOPT_MAXFILESIZE_LARGE, size: setup.limits.answerBytes)
        try easy.set(CURLOPT_ACCEPT_ENCODING, "gzip")
        if destination.isSecure {
            try easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
            // A second request waits to learn whether it can share the first one's connection.
            try easy.set(CURLOPT_PIPEWAIT, 1)
        }
        if let authorities = setup.trust.authorities {
            try easy.set(CURLOPT_CAINFO, authorities)
            // Otherwise libcurl would also trust the system's folder of certificates.
            try easy.set(CURLOPT_CAPATH, nil)
        }
        if let pins = setup.trust.pins { try easy.set(CURLOPT_PINNEDPUBLICKEY, pins.text) }
    }

    private func configureBody(of request: HTTPRequest) throws(TransportError) {
        if let sender {
            try easy.post(from: sender)
        } else if request.method == .post || request.body != nil {
            try easy.post(request.body ?? [])
        }
        // The methods that libcurl chooses by itself need no option.
        if request.method != .post, sender != nil || request.body != nil || request.method != .get {
            try easy.set(CURLOPT_CUSTOMREQUEST, request.method.rawValue)
        }
    }

    /// Returns how long the request may go on from `now` without transferring a byte; `nil` before
    /// there is a connection, which has a limit of its own.
    func patience(_ now: ContinuousClock.Instant) -> Duration? {
        guard easy.isConnected else { return nil }
        let total = transfer.received + easy.uploadedBytes
        if total != moved || lastMove == nil {
            moved = total
            lastMove = now
        }
        return stall - (now - (lastMove ?? now))
    }

    /// Returns the result of the transfer, from libcurl's `code` and what was received.
    func result(_ code: CURLcode) -> Result<HTTPResponse, TransportError> {
        Result { () throws(TransportError) in
            if let excess = transfer.excess { throw excess }
            guard code == CURLE_OK else { throw TransportError(easy.verdict(code, transfer)) }
            return HTTPResponse(
                status: try easy.status(), headers: transfer.headers, body: transfer.body)
        }
    }
}

/// The header fields of a request, in libcurl's form.
struct HeaderList: ~Copyable {
    private(set) var pointer: UnsafeMutablePointer<curl_slist>?

    /// Checks `headers` and adds them in their order.
    ///
    /// - Throws: `TransportError.refused` for a name that is not a token of RFC 9110, and for a
    ///   value that is empty or holds a control character: a line break would begin another field.
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
        // A name without a value removes the field. Otherwise libcurl would wait a second for
        // permission to send a larger body, even from servers that do not know this field.
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
            && name.utf8.areLettersDigits(or: "!#$%&'*+-.^_`|~")
    }

    private static func isValue(_ value: String) -> Bool {
        !value.isEmpty && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}

/// The state of libcurl's callbacks while one answer is received.
///
/// Used by one thread: libcurl calls back from within `curl_multi_perform`.
final class CurlTransfer {
    /// The most bytes of the body, and of all header fields including those of interim answers.
    let largestBody: Int
    let largestHead: Int
    private(set) var headers: [String: String] = [:]
    private(set) var body: [UInt8] = []
    /// The bytes received, of head and body.
    private(set) var received = 0
    /// Whether any part of the final answer, beyond an interim one, was received.
    private(set) var hasBegun = false
    /// Whether the whole head of the answer was received.
    private(set) var hasHead = false
    /// The limit that the answer exceeded.
    private(set) var excess: TransportError?

    /// Creates a transfer that stops beyond these limits.
    init(largestBody: Int, largestHead: Int = 64 * 1024) {
        self.largestBody = largestBody
        self.largestHead = largestHead
    }

    /// Receives one line of the head; `false` ends the transfer.
    func take(head line: UnsafeRawBufferPointer) -> Bool {
        received += line.count
        guard received - body.count <= largestHead else {
            excess = .headTooLarge(limit: largestHead)
            return false
        }
        let text = String(decoding: line, as: UTF8.self)
        if text.hasPrefix("HTTP/") {
            // Fields of an interim answer (1xx) do not belong to the final answer.
            headers = [:]
            hasBegun = text.split(separator: " ").dropFirst().first?.hasPrefix("1") == false
        } else if text == "\r\n" || text == "\n" {
            hasHead = hasBegun
        } else if let colon = text.firstIndex(of: ":") {
            let value = text[text.index(after: colon)...].drop { $0.isWhitespace }
            let end = value.lastIndex { !$0.isWhitespace }.map { value.index(after: $0) }
            headers[text[..<colon].lowercased()] = String(value[..<(end ?? value.startIndex)])
        }
        return true
    }

    /// Receives a piece of the body; `false` ends the transfer.
    func take(body piece: UnsafeRawBufferPointer) -> Bool {
        received += piece.count
        guard body.count + piece.count <= largestBody else {
            excess = .tooLarge(limit: largestBody)
            return false
        }
        body.append(contentsOf: piece)
        return true
    }
}

/// A `CURLOPT_HEADERFUNCTION` whose user data is a `CurlTransfer`.
func curlDidReceiveHead(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ transfer: UnsafeMutableRawPointer?
) -> Int {
    guard let transfer else { return 0 }
    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
    let took = Unmanaged<CurlTransfer>.fromOpaque(transfer).takeUnretainedValue().take(head: line)
    return took ? line.count : line.count + 1
}

/// A `CURLOPT_WRITEFUNCTION` whose user data is a `CurlTransfer`.
func curlDidReceiveBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ transfer: UnsafeMutableRawPointer?
) -> Int {
    guard let transfer else { return 0 }
    let piece = UnsafeRawBufferPointer(start: bytes, count: size * count)
    let took = Unmanaged<CurlTransfer>.fromOpaque(transfer).takeUnretainedValue().take(body: piece)
    // Any number other than the one that was passed in makes libcurl stop.
    return took ? piece.count : piece.count + 1
}
