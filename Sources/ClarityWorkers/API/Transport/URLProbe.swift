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
        try easy.reset()
        try easy.secure(for: destination, floor: Int(CURL_SSLVERSION_TLSv1_2))
        try easy.set(CURLOPT_CONNECTTIMEOUT_MS, Int(URLProbe.patience.milliseconds))
        try easy.set(CURLOPT_TIMEOUT_MS, Int(URLProbe.patience.milliseconds))
        try easy.set(CURLOPT_URL, url)
        try easy.send(fields)
        try easy.receive(into: transfer)
        let code = try multi.run(easy)
        withExtendedLifetime(transfer) {}
        withExtendedLifetime(fields) {}
        // What was not wanted of an answer is part of one all the same.
        if code == CURLE_OK || code == CURLE_WRITE_ERROR && transfer.excess != nil {
            return try easy.status()
        }
        throw TransportError(easy.verdict(code, transfer))
    }
}
