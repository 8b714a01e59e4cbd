/// The decision whether a week is analysed now.
public enum WeekRuling: Hashable, Sendable {
    case analyse
    /// Fewer minutes are known than are needed.
    case tooFew(known: Int, needed: Int)
    /// The backend has not reported the outcome yet.
    case underWay
    /// It was already analysed with at least as many minutes as are known now.
    case analysed
    /// It could not be analysed, and no more minutes are known now.
    case failedBefore

    /// Decides from the known minutes of a week and the newest analysis of the same week.
    ///
    /// A week is analysed once. It is analysed again if more of its minutes are known later and the
    /// earlier analysis has ended.
    public init(known: Int, needed: Int, former: (state: AnalysisState, known: Int)?) {
        guard known >= needed, known > 0 else {
            self = .tooFew(known: known, needed: needed)
            return
        }
        self =
            switch former?.state {
            case nil, .queued, .sending: .analyse
            case .accepted: .underWay
            case .completed: known > former?.known ?? 0 ? .analyse : .analysed
            case .failed, .unconfirmed: known > former?.known ?? 0 ? .analyse : .failedBefore
            }
    }

    /// Why the week is not analysed, for a person; `nil` if it is.
    public var reason: String? {
        switch self {
        case .analyse: nil
        case .tooFew(let known, let needed):
            "\(known) of its minutes are known, \(needed) are needed"
        case .underWay: "the backend is still at it"
        case .analysed: "it was analysed already, and no more of it is known now"
        case .failedBefore:
            "it could not be analysed before, and no more of it is known now"
        }
    }
}
