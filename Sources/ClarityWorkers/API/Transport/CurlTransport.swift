import ClarityScheduler
import Synchronization

/// Sends requests with libcurl, over connections that it keeps; may be used by many tasks at once.
///
/// Follows no redirect. Outside this machine it takes https only and the environment's proxy; to
/// this machine it also takes http, and never a proxy. TLS is 1.3 at least, HTTP/2 where the server
/// offers it; answers may be compressed, and are limited by what they are when they are not. A
/// cancelled task's connection is closed, or over HTTP/2 its stream, before `send` returns. A request
/// over a kept connection that the server had closed is sent again by libcurl, at once and once, over
/// a new one; a request with `isOnce` is not, since each has a connection of its own. One thread does
/// all of it, and ends with the transport.
public final class CurlTransport: HTTPTransport {
    /// How long things may take and how large they may be.
    public struct Limits: Hashable, Sendable {
        /// From the start until there is a connection, name and TLS included.
        public var connect: Duration
        /// From the start until the whole answer is here.
        public var total: Duration
        /// Without a byte in either direction once there is a connection, the server's thinking
        /// included.
        public var stall: Duration
        /// The body of an answer, decompressed.
        public var answerBytes: Int
        /// The head of an answer together with those of interim answers.
        public var headBytes: Int

        /// Creates limits; as they stand 10 s, 60 s, 30 s, 16 MiB and 64 KiB.
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

    /// Which servers are believed to be the backend.
    public struct Trust: Hashable, Sendable {
        /// A file with the certificates of the authorities to trust in the place of the system's.
        public var authorities: String?
        /// The keys one of which the server must have, on top of a certificate that is trusted.
        public var pins: PublicKeyPins?

        /// Creates a rule; as it stands the system's authorities, and any key.
        public init(authorities: String? = nil, pins: PublicKeyPins? = nil) {
            self.authorities = authorities
            self.pins = pins
        }

        /// Reads what a job file hands on: a path, and pins with one on each line.
        ///
        /// - Throws: `TransportError.refused` for pins that are not at least two.
        public init(authorities: String?, pinLines: String?) throws(TransportError) {
            self.authorities = authorities
            guard let pinLines else { return }
            pins = try PublicKeyPins(pinLines.split(separator: "\n").map(String.init))
        }
    }

    private let loop: CurlLoop

    /// Creates a transport that calls itself `clarity-jobs/<version>`.
    ///
    /// - Throws: `TransportError.library` when libcurl or a thread cannot start.
    public init(
        version: String, limits: Limits = Limits(), trust: Trust = Trust()
    ) throws(TransportError) {
        loop = try CurlLoop(
            CurlSetup(userAgent: "clarity-jobs/\(version)", limits: limits, trust: trust))
    }

    deinit { loop.end() }

    public var executor: (any TaskExecutor)? { loop }

    public func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        // The loop ends with the transport, and must not while anybody waits.
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

/// A request that waits to be sent, and who waits for its answer.
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

    /// Hands over the result; once for each job.
    func finish(_ result: Result<HTTPResponse, TransportError>) {
        continuation.resume(returning: result)
    }
}
