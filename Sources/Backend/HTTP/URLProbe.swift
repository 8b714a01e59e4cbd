import CCurl
import ClarityScheduler

/// Requests a URL once and returns the status of the answer.
///
/// It follows no redirect, sends no cookie and stores nothing. It reads only the head of the
/// answer: the first byte of a body ends the transfer. To other machines it uses the environment's
/// proxy, to this machine never one. It requires TLS 1.2 or newer, which is enough because it sends
/// nothing secret, and the system's certificate authorities.
public struct URLProbe: ~Copyable {
    /// The longest wait for an answer: 5 min. A caller with less patience ends the process.
    static let patience: Duration = .seconds(300)

    private let multi: CurlMulti
    private let easy: EasyHandle
    private let userAgent: String

    /// Creates a probe whose user agent is `clarity-jobs/<version>`.
    ///
    /// - Throws: `TransportError.library` if libcurl cannot start.
    public init(version: String) throws(TransportError) {
        let multi = try CurlMulti()
        let easy = try EasyHandle()
        self.multi = multi
        self.easy = easy
        userAgent = "clarity-jobs/\(version)"
    }

    /// Returns the status of the answer at an http or https URL, whatever it is. Blocks the calling
    /// thread.
    ///
    /// - Throws: `TransportError` if there is no answer; `.refused` for text that is not such a
    ///   URL, and for a URL with a user or password.
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
        // The part of an answer that was not wanted is part of an answer all the same.
        if code == CURLE_OK || code == CURLE_WRITE_ERROR && transfer.excess != nil {
            return try easy.status()
        }
        throw TransportError(easy.verdict(code, transfer))
    }
}
