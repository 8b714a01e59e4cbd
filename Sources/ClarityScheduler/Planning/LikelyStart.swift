/// When a job likely starts: a certain time, an estimate from the past, or why there is neither.
public enum LikelyStart: Hashable, Sendable {
    /// The job is running.
    case running
    /// Nothing is in the way.
    case now
    /// Only time is in the way: the job starts then, if conditions stay as they are.
    case at(Instant)
    /// The job starts then at the latest, because the run drops these constraints.
    case by(Instant, dropping: [String])
    /// The job starts then, if each hold takes as long as its median.
    case estimated(Instant, [Basis])
    /// The start is unknown; it is not before `notBefore`, if that is given.
    case unknown(notBefore: Instant?, [Doubt])
    /// The job does not start: the run expires before it can.
    case never(expires: Instant)

    /// The basis of an estimate: the median length of earlier holds.
    public struct Basis: Hashable, Sendable {
        public var subject: String
        /// Since when the subject holds the run back now.
        public var since: Instant
        /// The number of earlier holds that are known.
        public var times: Int
        public var median: Duration
    }

    /// Why there is no estimate.
    public enum Doubt: Hashable, Sendable {
        /// Nothing names a time: the job waits for a request.
        case untilAsked
        /// The job is paused until somebody resumes it.
        case untilResumed
        /// The subject holds no run back yet, so the start of the hold is unknown.
        case notWaitedFor(subject: String)
        /// Fewer than `fewestTimes` earlier holds are known.
        case tooFewTimes(subject: String, times: Int)
        /// The hold is already longer than its median.
        case longerThanMostly(Basis)
    }

    /// The smallest number of earlier holds that allows an estimate.
    public static let fewestTimes = 3
}

extension LikelyStart {
    /// Derives the start from the factors that hold a run back: the latest time at which one of
    /// them ends.
    init(_ factors: [JobExplanation.Factor], now: Instant, expiresAt: Instant?) {
        let releases = factors.filter { $0.state == .unmet }
            .map { Release(of: $0, now: now, expiresAt: expiresAt) }
        let doubts = releases.compactMap(\.doubt)
        let bases = releases.compactMap(\.basis)
        let certain = releases.filter(\.isCertain).compactMap(\.instant).max()
        if let certain, let expiresAt, certain > expiresAt {
            self = .never(expires: expiresAt)
        } else if !doubts.isEmpty {
            self = .unknown(notBefore: certain, doubts)
        } else if let last = releases.compactMap(\.instant).max() {
            let dropped = releases.filter { $0.instant == last }.compactMap(\.dropped)
            if !bases.isEmpty {
                self = .estimated(last, bases)
            } else {
                self = dropped.isEmpty ? .at(last) : .by(last, dropping: dropped)
            }
        } else {
            self = .now
        }
    }

    /// When one factor stops holding the run back.
    private enum Release {
        case certain(Instant)
        case dropped(Instant, String)
        case estimated(Instant, Basis)
        case open(Doubt)

        var instant: Instant? {
            switch self {
            case .certain(let instant), .dropped(let instant, _), .estimated(let instant, _):
                instant
            case .open: nil
            }
        }
        var isCertain: Bool { if case .certain = self { true } else { false } }
        var doubt: Doubt? { if case .open(let doubt) = self { doubt } else { nil } }
        var basis: Basis? { if case .estimated(_, let basis) = self { basis } else { nil } }
        var dropped: String? { if case .dropped(_, let name) = self { name } else { nil } }

        init(of factor: JobExplanation.Factor, now: Instant, expiresAt: Instant?) {
            switch factor.change {
            case .pass(let until): self = .certain(until)
            case .opens(let opens):
                self =
                    if let dropsAt = factor.dropsAt, dropsAt < opens {
                        .dropped(dropsAt, factor.subject)
                    } else {
                        .certain(opens)
                    }
            case .resume(let until?): self = .certain(until)
            case .resume(nil): self = .open(.untilResumed)
            case .ask: self = .open(.untilAsked)
            case .meet, .makeKnown, .finish, .attemptGone, .slot, .place, .answer, nil:
                let expected = Release.expected(factor, now)
                guard let dropsAt = factor.dropsAt, dropsAt <= expiresAt ?? dropsAt,
                    dropsAt <= expected.instant ?? dropsAt
                else {
                    self = expected
                    return
                }
                self = .dropped(dropsAt, factor.subject)
            }
        }

        private static func expected(_ factor: JobExplanation.Factor, _ now: Instant) -> Release {
            guard let since = factor.since else {
                return .open(.notWaitedFor(subject: factor.subject))
            }
            guard let past = factor.past, past.ended >= fewestTimes, let median = past.median else {
                return .open(
                    .tooFewTimes(subject: factor.subject, times: factor.past?.ended ?? 0))
            }
            let basis = Basis(
                subject: factor.subject, since: since, times: past.ended, median: median)
            let instant = since + median
            return instant > now ? .estimated(instant, basis) : .open(.longerThanMostly(basis))
        }
    }
}
