import ClarityScheduler

/// One row of what a backend's answer really means, where its status does not say it.
struct Meaning: Hashable, Sendable {
    /// What of a body tells the row.
    enum Sign: Hashable, Sendable {
        /// The status alone.
        case any
        /// The code that the body gives.
        case code(String)
        /// How the sentence of the body begins.
        case opening(String)
        /// A body that is not this backend's.
        case notJSON
    }

    /// What follows.
    enum Verdict: Hashable, Sendable {
        case error(APIError)
        /// What stands behind the backend is out of reach, whatever the status.
        case outage
        /// What was sent is refused; the metrics that the body names are at fault.
        case refusal
    }

    /// The calls that it is about; `nil`: every one.
    var calls: Set<APICall>?
    var status: Int
    var sign: Sign
    var verdict: Verdict

    init(_ calls: Set<APICall>?, _ status: Int, _ sign: Sign, _ verdict: Verdict) {
        self.calls = calls
        self.status = status
        self.sign = sign
        self.verdict = verdict
    }

    /// Whether the row is about an answer.
    func fits(_ call: APICall, _ status: Int, _ report: FaultReport) -> Bool {
        guard status == self.status, calls?.contains(call) ?? true else { return false }
        return switch sign {
        case .any: true
        case .code(let code): report.code == code
        case .opening(let words): report.begins(with: words)
        case .notJSON: !report.isJSON
        }
    }
}

extension Dialect {
    /// What an answer to `call` says went wrong; `nil` for an answer that is a success.
    ///
    /// - Parameter now: what a `Retry-After` with a date is measured from.
    func error(in response: HTTPResponse, to call: APICall, now: Instant) -> APIError? {
        guard !(200..<300).contains(response.status) else { return nil }
        let report = FaultReport(response.body)
        if let meaning = meanings.first(where: { $0.fits(call, response.status, report) }) {
            return switch meaning.verdict {
            case .error(let error): error
            case .outage: .unavailable(status: response.status)
            case .refusal: .validation(indices: report.indices)
            }
        }
        let usual = APIError(response, report, now: now)
        switch usual {
        case .rejected(let status) where status != 405 && !provesNothingKept(call):
            return .unavailable(status: status)
        case .conflict where !provesNothingKept(call):
            return .unavailable(status: response.status)
        // A limit of its own that the backend does not own up to.
        case .rateLimited(after: nil): return .rateLimited(after: routes[call]?.window)
        case .notFound where routes[call]?.mustExist == true:
            return .noSuchCall(status: response.status)
        case .rejected(status: 405): return .noSuchCall(status: 405)
        default: return usual
        }
    }

    private func provesNothingKept(_ call: APICall) -> Bool {
        refusalOfUploadIsCertain || ![.uploadMetrics, .uploadSamples].contains(call)
    }
}
