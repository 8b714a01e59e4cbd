import CCurl
import ClarityScheduler

/// Asks a URL once and tells with which status it answered.
///
/// Follows no redirect, sends no cookie and keeps nothing: the head of the answer is all that is
/// read, the first byte of a body ends the transfer. Outside this machine it takes the environment's
/// proxy, to this machine never one. TLS is 1.2 at least, with the system's certificate authorities,
/// since nothing that is secret is sent.
public struct URLProbe: ~Copyable {
    /// The longest that an answer is waited for, 5 min: whoever has less patience ends the process.
    static let patience: Duration = .seconds(300)

    private let multi: CurlMulti
    private let easy: EasyHandle
    private let userAgent: String

    /// Creates a probe that calls itself `clarity-jobs/<version>`.
    ///
    /// - Throws: `TransportError.library` when libcurl cannot start.
    public init(version: String) throws(TransportError) {
        let multi = try CurlMulti()
        let easy = try EasyHandle()
        self.multi = multi
        self.easy = easy
        userAgent = "clarity-jobs/\(version)"
    }

    /// The status with which a URL of http or https answers, whatever it is. Blocks the calling
    /// thread.
    ///
    /// - Throws: `TransportError` when there is no answer; `.refused` for what is no such URL, or one
    ///   with a user or password in it.
    public func status(of url: String) throws(TransportError) -> Int {
        let destination = try Destination(url, allowsPlain: true)
        let fields = try HeaderList([HTTPHeader("User-Agent", .plain(userAgent))])
        let transfer = CurlTransfer(largestBody: 0)
        easy.reset()
        try configure(for: destination)
        try easy.set(CURLOPT_URL, url)
        try easy.send(fields)
        try easy.receive(into: transfer)
        let code = try multi.run(easy.pointer) { URLProbe.patience }
        withExtendedLifetime(transfer) {}
        withExtendedLifetime(fields) {}
        // What was not wanted of an answer is part of one all the same.
        if let code, code == CURLE_OK || code == CURLE_WRITE_ERROR && transfer.isTooLarge {
            return try easy.number(CURLINFO_RESPONSE_CODE)
        }
        throw TransportError(
            code: Int((code ?? CURLE_OPERATION_TIMEDOUT).rawValue), systemError: easy.systemError,
            hasBegun: transfer.hasBegun, limit: 0)
    }

    private func configure(for destination: Destination) throws(TransportError) {
        // Without it libcurl bounds name resolution with SIGALRM, which other threads would get.
        try easy.set(CURLOPT_NOSIGNAL, 1)
        try easy.set(CURLOPT_PROTOCOLS_STR, "http,https")
        try easy.set(CURLOPT_FOLLOWLOCATION, 0)
        try easy.set(CURLOPT_PATH_AS_IS, 1)
        try easy.set(CURLOPT_CONNECTTIMEOUT_MS, Int(URLProbe.patience.milliseconds))
        try easy.set(CURLOPT_TIMEOUT_MS, Int(URLProbe.patience.milliseconds))
        try easy.set(CURLOPT_SSL_VERIFYPEER, 1)
        try easy.set(CURLOPT_SSL_VERIFYHOST, 2)
        try easy.set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        // What a proxy says while it makes a tunnel is not the answer.
        try easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        try easy.set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        // An empty name is no proxy, whatever the environment says.
        if destination.isLoopback { try easy.set(CURLOPT_PROXY, "") }
    }
}
