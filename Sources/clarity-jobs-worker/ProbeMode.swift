import Backend
import Platform
import ClarityJobs

/// Requests a URL once, for programs that may not link a library for that.
///
/// It prints the status of the answer, or in lower-case words why there was none. It exits with 0
/// for a status from 200 to 299, with 1 for another status, and with 69 without an answer.
enum ProbeMode {
    static func run(_ url: String) -> ExitStatus {
        do throws(TransportError) {
            let status = try URLProbe(version: programVersion).status(of: url)
            print(status)
            return (200...299).contains(status) ? .done : .failed
        } catch {
            return status(of: error)
        }
    }

    private static func status(of error: TransportError) -> ExitStatus {
        let words: String
        switch error {
        case .refused:
            return Program.usageError("expected a url of http or https without user and password")
        case .library(let code):
            complain("libcurl failed with \(code)")
            return .internalFault
        case .offline: words = "no route"
        case .nameNotResolved: words = "name not resolved"
        case .couldNotConnect: words = "could not connect"
        case .proxyRefused: words = "the proxy makes no way"
        case .connectTimeout, .stalled, .timeout, .cancelled: words = "no answer in time"
        case .reset, .truncated: words = "connection lost"
        case .tls, .tlsVersion, .certificateNotTrusted, .certificateOutOfDate,
            .certificateForOtherHost, .pinMismatch, .authoritiesUnreadable:
            words = "no trusted tls connection"
        case .malformed, .badEncoding, .tooLarge, .headTooLarge, .bodyUnreadable, .limited,
            .limitsUnusable:
            words = "no http"
        }
        print(words)
        return .unreachable
    }
}
