import ClarityJobs
import ClarityScheduler

/// What the backend says of something that it works at.
enum StatusAnswer: Hashable, Sendable {
    /// It goes on, in these words, and is so far, where the backend says how far.
    case open(String, percent: Int64?)
    /// It is done; of an analysis with its result.
    case completed(AnalysisResult?)
    case failed
    /// It is there, and the backend says no more.
    case stored
    /// The backend does not know it, or not any more.
    case unknown
    /// There is no word about this one.
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

    /// What an error says about the one that was asked for.
    ///
    /// - Throws: an error that says nothing about it, since no other could be asked for either.
    init(_ error: APIError) throws(APIError) {
        switch error {
        case .notFound: self = .open("not found", percent: nil)
        // A gateway speaks, or a backend that says itself that it is not there.
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

    /// The answer in words of this program.
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
