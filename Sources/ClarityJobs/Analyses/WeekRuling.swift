/// Whether a week is analysed now.
public enum WeekRuling: Hashable, Sendable {
    case analyse
    /// Fewer minutes are known than are wanted.
    case tooFew(known: Int, needed: Int)
    /// The backend has not said yet what became of it.
    case underWay
    /// It was analysed with as many minutes as are known now, or more.
    case analysed
    /// It could not be analysed, and no more of it is known now.
    case failedBefore

    /// Judges a week by its known minutes and by the newest analysis of the same week.
    ///
    /// A week is analysed once; a later reading that knows more of its minutes asks anew, once the
    /// analysis before has ended.
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

    /// Why it is not analysed, for a person; `nil` when it is.
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
