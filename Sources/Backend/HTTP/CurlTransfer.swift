import CCurl

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
