import ClarityScheduler

extension Meaning {
    /// Whether the row applies to an answer.
    func fits(_ call: APICall, _ status: Int, _ report: FaultReport) -> Bool {
        guard status == self.status, calls?.contains(call) ?? true else { return false }
        return switch sign {
        case .any: true
        case .code(let code): report.code == code
        case .opening(let words): report.begins(with: words)
        case .plain(let text): report.plainText == text
        case .notJSON: !report.isJSON
        }
    }
}

extension Dialect {
    /// Returns the error that an answer to `call` reports; `nil` if the answer is a success.
    ///
    /// - Parameter now: the instant from which a date in `Retry-After` is measured.
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
        // The backend does not say how long this limit lasts.
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
