import CCurl
import ClarityScheduler
import Synchronization

/// Sends requests with libcurl, one at a time, over connections that it keeps.
///
/// Neither follows redirects nor asks for compression. Outside this machine it takes https only and
/// the environment's proxy; to this machine it also takes http, and never a proxy. TLS is 1.3 at
/// least, with the system's certificate authorities. Cancelling the task closes the connection.
/// A request over a kept connection that the server had closed is sent again by libcurl, at once
/// and once, over a new one.
public actor CurlTransport: HTTPTransport {
    /// How long things may take and how large they may be.
    public struct Limits: Hashable, Sendable {
        /// From the start until there is a connection, name and TLS included.
        public var connect: Duration
        /// From the start until the whole answer is here.
        public var total: Duration
        /// Without a byte in either direction, the server's thinking included.
        public var stall: Duration
        /// The body of an answer.
        public var answerBytes: Int

        /// Creates limits; as they stand 10 s, 60 s, 30 s and 16 MiB.
        public init(
            connect: Duration = .seconds(10), total: Duration = .seconds(60),
            stall: Duration = .seconds(30), answerBytes: Int = 16 * 1024 * 1024
        ) {
            self.connect = connect
            self.total = total
            self.stall = stall
            self.answerBytes = answerBytes
        }
    }

    private let executor = QueueExecutor(label: "clarity-jobs.curl")
    private let multi: CurlMulti
    private let easy: EasyHandle
    private let limits: Limits
    private let userAgent: String

    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Creates a transport that calls itself `clarity-jobs/<version>`.
    ///
    /// - Throws: `TransportError.library` when libcurl cannot start.
    public init(version: String, limits: Limits = Limits()) throws(TransportError) {
        multi = try CurlMulti()
        easy = try EasyHandle()
        self.limits = limits
        userAgent = "clarity-jobs/\(version)"
    }

    public nonisolated func send(
        _ request: HTTPRequest
    ) async throws(TransportError) -> HTTPResponse {
        let flag = CancellationFlag()
        let result = await withTaskCancellationHandler {
            await self.result(of: request, unless: flag)
        } onCancel: {
            flag.isSet.store(true, ordering: .releasing)
            multi.wakeUp()
        }
        return try result.get()
    }

    private func result(
        of request: HTTPRequest, unless flag: CancellationFlag
    ) -> Result<HTTPResponse, TransportError> {
        Result { () throws(TransportError) in try perform(request, unless: flag) }
    }

    private func perform(
        _ request: HTTPRequest, unless flag: CancellationFlag
    ) throws(TransportError) -> HTTPResponse {
        let destination = try Destination(request.url)
        let fields = try HeaderList(
            request.headers + [HTTPHeader("User-Agent", .plain(userAgent))])
        let transfer = CurlTransfer(largestBody: limits.answerBytes)
        // Forgets every option, addresses of the last request among them; keeps connections.
        easy.reset()
        try configure(for: destination)
        try easy.set(CURLOPT_URL, request.url)
        try easy.send(fields)
        try easy.receive(into: transfer)
        // The body is lent to libcurl, not copied, and outlives the transfer within this call.
        let sent = (request.body ?? []).withUnsafeBytes { body in
            Result { () throws(TransportError) in
                if request.method == .post { try easy.post(body) }
                try move(transfer, unless: flag)
            }
        }
        withExtendedLifetime(transfer) {}
        withExtendedLifetime(fields) {}
        try sent.get()
        return HTTPResponse(
            status: try easy.number(CURLINFO_RESPONSE_CODE), headers: transfer.headers,
            body: transfer.body)
    }

    private func configure(for destination: Destination) throws(TransportError) {
        // Without it libcurl bounds name resolution with SIGALRM, which other threads would get.
        try easy.set(CURLOPT_NOSIGNAL, 1)
        try easy.set(CURLOPT_PROTOCOLS_STR, "http,https")
        try easy.set(CURLOPT_FOLLOWLOCATION, 0)
        try easy.set(CURLOPT_PATH_AS_IS, 1)
        try easy.set(CURLOPT_CONNECTTIMEOUT_MS, Int(limits.connect.milliseconds))
        try easy.set(CURLOPT_TIMEOUT_MS, Int(limits.total.milliseconds))
        try easy.set(CURLOPT_MAXFILESIZE_LARGE, size: limits.answerBytes)
        try easy.set(CURLOPT_SSL_VERIFYPEER, 1)
        try easy.set(CURLOPT_SSL_VERIFYHOST, 2)
        // A proxy sees where a tunnel goes, never what goes through it.
        try easy.set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        try easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        try easy.set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_3))
        // An empty name is no proxy, whatever the environment says.
        if destination.isLoopback { try easy.set(CURLOPT_PROXY, "") }
    }

    private func move(
        _ transfer: CurlTransfer, unless flag: CancellationFlag
    ) throws(TransportError) {
        let clock = ContinuousClock()
        var seen = -1
        var lastProgress = clock.now
        var stop = TransportError.cancelled
        let code = try multi.run(easy.pointer) { () -> Duration? in
            if flag.isSet.load(ordering: .acquiring) { return nil }
            let moved = transfer.received + easy.uploadedBytes
            let now = clock.now
            if moved != seen {
                seen = moved
                lastProgress = now
            }
            let left = limits.stall - (now - lastProgress)
            if left > .zero { return left }
            stop = .timeout
            return nil
        }
        guard let code else { throw stop }
        // A cancellation that came after the last byte came too late to matter.
        guard code == CURLE_OK else { throw failure(code, transfer) }
    }

    private func failure(_ code: CURLcode, _ transfer: CurlTransfer) -> TransportError {
        if transfer.isTooLarge { return .tooLarge(limit: limits.answerBytes) }
        return TransportError(
            code: Int(code.rawValue), systemError: easy.systemError, hasBegun: transfer.hasBegun,
            limit: limits.answerBytes)
    }
}

/// Set when the task that waits for a transfer is cancelled.
private final class CancellationFlag: Sendable {
    let isSet = Atomic(false)
}
