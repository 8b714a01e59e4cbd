public import BackendContract
import Synchronization
import CCurl
import Glibc

/// Sends requests with libcurl, over connections that it keeps; many tasks may use it at once.
///
/// - It follows no redirect.
/// - To other machines it uses only https, and the environment's proxy. To this machine it also
///   allows http, and never uses a proxy.
/// - It requires TLS 1.3 or newer, and uses HTTP/2 if the server offers it.
/// - Answers may be compressed; their limits apply to the decompressed size.
/// - If a task is cancelled, its connection, or over HTTP/2 its stream, is closed before `send`
///   returns.
/// - If the server had closed a kept connection, libcurl sends the request again, at once and once,
///   over a new one. A request with `isOnce` is not sent again: it has a connection of its own, or
///   a body that cannot be read a second time.
///
/// One thread does all of this, and ends with the transport.
public final class CurlTransport: HTTPTransport {
    /// Limits on durations and sizes.
    public struct Limits: Hashable, Sendable {
        /// From the start until there is a connection, including name resolution and TLS.
        public var connect: Duration
        /// From the start until the answer is complete.
        public var total: Duration
        /// Without a byte in either direction once there is a connection, including the server's
        /// time to think.
        public var stall: Duration
        /// The decompressed body of an answer.
        public var answerBytes: Int
        /// The head of an answer together with those of interim answers.
        public var headBytes: Int

        /// Creates limits; the defaults are 10 s, 60 s, 30 s, 16 MiB and 64 KiB.
        public init(
            connect: Duration = .seconds(10), total: Duration = .seconds(60),
            stall: Duration = .seconds(30), answerBytes: Int = 16 * 1024 * 1024,
            headBytes: Int = 64 * 1024
        ) {
            self.connect = connect
            self.total = total
            self.stall = stall
            self.answerBytes = answerBytes
            self.headBytes = headBytes
        }
    }

    /// Which servers are trusted to be the backend.
    public struct Trust: Hashable, Sendable {
        /// A file with the certificates of the authorities to trust instead of the system's.
        public var authorities: String?
        /// The keys of which the server must have one, in addition to a trusted certificate.
        public var pins: PublicKeyPins?

        /// Creates a rule; by default it trusts the system's authorities, and any key.
        public init(authorities: String? = nil, pins: PublicKeyPins? = nil) {
            self.authorities = authorities
            self.pins = pins
        }

        /// Reads the values that a job file passes on: a path, and pins, one on each line.
        ///
        /// - Throws: `TransportError.refused` unless there are at least two valid pins.
        public init(authorities: String?, pinLines: String?) throws(TransportError) {
            self.authorities = authorities
            guard let pinLines else { return }
            pins = try PublicKeyPins(pinLines.split(separator: "\n").map(String.init))
        }
    }

    private let loop: CurlLoop

    /// Does what libcurl and its TLS library do once in a process: each fork then finds it done. It
    /// draws no random number, and OpenSSL's generators compare the process id at each draw (`fork_id`
    /// in its providers/implementations/rands/drbg.c), so that forks share none.
    ///
    /// - Throws: `TransportError.library` if libcurl cannot start.
    public static func prepareForForks() throws(TransportError) {
        let code = ccurl_global_init()
        guard code == CURLE_OK else { throw .library(code: Int(code.rawValue)) }
    }

    /// Creates a transport whose user agent is `clarity-jobs/<version>`.
    ///
    /// - Throws: `TransportError.library` if libcurl or a thread cannot start.
    public init(
        version: String, limits: Limits = Limits(), trust: Trust = Trust()
    ) throws(TransportError) {
        loop = try CurlLoop(
            CurlSetup(userAgent: "clarity-jobs/\(version)", limits: limits, trust: trust))
    }

    deinit { loop.end() }

    public var executor: (any TaskExecutor)? { loop }

    public func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        // The loop ends with the transport, so keep the transport alive while a task waits.
        defer { withExtendedLifetime(self) {} }
        let flag = CancellationFlag()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                loop.submit(CurlJob(request, unless: flag, continuation))
            }
        } onCancel: {
            flag.isSet.store(true, ordering: .releasing)
            loop.look()
        }
        return try result.get()
    }
}

/// Set when the task that waits for a transfer is cancelled.
final class CancellationFlag: Sendable {
    let isSet = Atomic(false)
}

/// A request to be sent, and the task that waits for its answer.
struct CurlJob: Sendable {
    let request: HTTPRequest
    private let flag: CancellationFlag
    private let continuation: CheckedContinuation<Result<HTTPResponse, TransportError>, Never>

    init(
        _ request: HTTPRequest, unless flag: CancellationFlag,
        _ continuation: CheckedContinuation<Result<HTTPResponse, TransportError>, Never>
    ) {
        self.request = request
        self.flag = flag
        self.continuation = continuation
    }

    var isCancelled: Bool { flag.isSet.load(ordering: .acquiring) }

    /// Delivers the result; call it once for each job.
    func finish(_ result: Result<HTTPResponse, TransportError>) {
        continuation.resume(returning: result)
    }
}

/// The state of libcurl's callbacks while one body is sent.
///
/// Used by one thread: libcurl calls back from within `curl_multi_perform`.
final class CurlSender {
    private let body: [UInt8]
    /// Without this libcurl cannot send again what it has begun to send.
    private let isRewindable: Bool
    private var offset = 0

    init(_ body: [UInt8], isRewindable: Bool = true) {
        (self.body, self.isRewindable) = (body, isRewindable)
    }

    var count: Int { body.count }

    /// Fills part of `buffer` and returns the number of bytes; 0 at the end.
    func give(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let piece = body[offset..<min(offset + buffer.count, body.count)]
        buffer.copyBytes(from: piece)
        offset += piece.count
        return piece.count
    }

    /// Continues from `offset`; returns `false` if that cannot be.
    func seek(_ offset: Int) -> Bool {
        guard isRewindable || self.offset == 0, (0...body.count).contains(offset) else {
            return false
        }
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
    return Unmanaged<CurlSender>.fromOpaque(sender).takeUnretainedValue().give(buffer)
}

/// A `CURLOPT_SEEKFUNCTION` whose user data is a `CurlSender`.
func curlWillRewind(
    _ sender: UnsafeMutableRawPointer?, _ offset: curl_off_t, _ origin: Int32
) -> Int32 {
    guard let sender, origin == SEEK_SET else { return CURL_SEEKFUNC_FAIL }
    let isThere = Unmanaged<CurlSender>.fromOpaque(sender).takeUnretainedValue().seek(Int(offset))
    return isThere ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
}
