import Backend
import HealthStore
import ClarityScheduler

/// The backend's answer about something that it is processing.
enum StatusAnswer: Hashable, Sendable {
    /// It is in progress, described by this word, with the percentage if the backend gives one.
    case open(String, percent: Int64?)
    /// It is done; for an analysis with its result.
    case completed(AnalysisResult?)
    case failed
    /// It is stored, and the backend reports no more.
    case stored
    /// The backend does not know it, or no longer.
    case unknown
    /// There is no answer about this one.
    case silent(APIError)

    init(_ status: ProcessingStatus) {
        switch status.state {
        case .completed: self = .completed(nil)
        case .failed: self = .failed
        case .stored: self = .stored
        case .received, .processing, .other:
            let percent = status.progress.map { Int64(($0 * 100).rounded()) }
            let word = status.state == .other ? "something else" : status.state.rawValue
            self = .open(word + (percent.map { ", \($0) %" } ?? ""), percent: percent)
        }
    }

    init(_ analysis: Analysis) {
        switch analysis.state {
        case .completed: self = .completed(AnalysisResult(of: analysis))
        case .failed: self = .failed
        case .received, .processing: self = .open(analysis.state.rawValue, percent: nil)
        case .notFound: self = .open("not found", percent: nil)
        case .other: self = .open("something else", percent: nil)
        }
    }

    /// Creates the answer that an error implies for one item.
    ///
    /// - Throws: an error that says nothing about this item, because every other item would meet it
    ///   too.
    init(_ error: APIError) throws(APIError) {
        switch error {
        case .notFound: self = .open("not found", percent: nil)
        // A gateway answers, or a backend that reports that it is unavailable.
        case .server(status: 502...504, _): throw error
        case .server, .decoding, .tooLarge, .rejected, .validation, .conflict, .forbidden,
            .notOffered:
            self = .silent(error)
        default: throw error
        }
    }

    var percent: Int64? {
        switch self {
        case .open(_, let percent): percent
        case .completed, .stored: 100
        case .failed, .unknown, .silent: nil
        }
    }

    /// The answer in this program's own words.
    var word: String {
        switch self {
        case .open(let word, _): word
        case .completed: "completed"
        case .failed: "failed"
        case .stored: "received"
        case .unknown: "not found"
        case .silent(let error): error.ruling.sentence
        }
    }
}
