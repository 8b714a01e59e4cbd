/// A row of the table that says what an answer means where its status does not.
package struct Meaning: Hashable, Sendable {
    /// The part of a body by which a row recognises it.
    package enum Sign: Hashable, Sendable {
        /// Any body; the status is enough.
        case any
        /// The code in the body.
        case code(String)
        /// The beginning of the sentence in the body.
        case opening(String)
        /// A body that is not JSON, and so not the backend's.
        case notJSON
    }

    /// The meaning of the answer.
    package enum Verdict: Hashable, Sendable {
        case error(APIError)
        /// A service behind the backend is unreachable, whatever the status.
        case outage
        /// The content was refused; the metrics that the body names are at fault.
        case refusal
    }

    /// The calls that the row applies to; `nil`: all.
    package var calls: Set<APICall>?
    package var status: Int
    package var sign: Sign
    package var verdict: Verdict

    init(_ calls: Set<APICall>?, _ status: Int, _ sign: Sign, _ verdict: Verdict) {
        self.calls = calls
        self.status = status
        self.sign = sign
        self.verdict = verdict
    }
}
