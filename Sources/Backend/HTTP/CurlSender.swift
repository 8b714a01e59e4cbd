import CCurl
import Glibc

/// The state of libcurl's callbacks while one body is sent.
///
/// Used by one thread: libcurl calls back from within `curl_multi_perform`.
final class CurlSender {
    private let body: RequestBody
    private var offset = 0
    /// Whether the body could not be read, or ended before its announced length.
    private(set) var hasFailed = false

    init(_ body: RequestBody) { self.body = body }

    var count: Int { body.count }

    /// Fills part of `buffer` and returns the number of bytes; 0 at the end, `nil` if the body
    /// fails to provide its announced length.
    func give(_ buffer: UnsafeMutableRawBufferPointer) -> Int? {
        let wanted = min(buffer.count, body.count - offset)
        guard wanted > 0 else { return 0 }
        do {
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
            let count = try body.read(offset, piece)
            guard (1...wanted).contains(count) else {
                hasFailed = true
                return nil
            }
            offset += count
            return count
        } catch {
            // The reader's error may hold a path or worse; it is enough that it failed.
            hasFailed = true
            return nil
        }
    }

    /// Continues from `offset`; returns `false` if that is not within the body.
    func seek(_ offset: Int) -> Bool {
        guard (0...body.count).contains(offset) else { return false }
        self.offset = offset
        return true
    }
}

/// A `CURLOPT_READFUNCTION` whose user data is a `CurlSender`.
func curlWillSend(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ sender: UnsafeMutableRawPointer?
) -> Int {
    guard let sender else { return Int(CURL_READFUNC_ABORT) }
    let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
    let given = Unmanaged<CurlSender>.fromOpaque(sender).takeUnretainedValue().give(buffer)
    return given ?? Int(CURL_READFUNC_ABORT)
}

/// A `CURLOPT_SEEKFUNCTION` whose user data is a `CurlSender`.
func curlWillRewind(
    _ sender: UnsafeMutableRawPointer?, _ offset: curl_off_t, _ origin: Int32
) -> Int32 {
    guard let sender, origin == SEEK_SET else { return CURL_SEEKFUNC_FAIL }
    let isThere = Unmanaged<CurlSender>.fromOpaque(sender).takeUnretainedValue().seek(Int(offset))
    return isThere ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
}
