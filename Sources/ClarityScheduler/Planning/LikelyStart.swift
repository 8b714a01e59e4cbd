/// When a job likely starts: what is certain, what the past lets expect, or why nobody can say.
public enum LikelyStart: Hashable, Sendable {
    /// It runs.
    case running
    /// Nothing is in the way.
    case now
    /// Only time is in the way: then, if conditions stay as they are.
    case at(Instant)
    /// Then at the latest, since the run no longer asks for these constraints from there on.
    case by(Instant, dropping: [String])
    /// Then, if what is in the way takes as long as it mostly does.
    case estimated(Instant, [Basis])
    /// Nobody can say, but that it is not before an instant, where there is one.
    case unknown(notBefore: Instant?, [Doubt])
    /// Not at all: the run is given up before.
    case never(expires: Instant)

    /// What an estimate rests on: the median length of earlier times.
    public struct Basis: Hashable, Sendable {
        public var subject: String
        /// Since when it holds the run back now.
        public var since: Instant
        /// How many times are known.
        public var times: Int
        public var median: Duration
    }

    /// Why there is no estimate.
    public enum Doubt: Hashable, Sendable {
        /// Nothing names a time: it waits to be asked for.
        case untilAsked
        /// It is paused until somebody resumes it.
        case untilResumed
        /// This holds no run back yet, so that nobody knows since when.
        case notWaitedFor(subject: String)
        /// Fewer than `fewestTimes` earlier times are known.
        case tooFewTimes(subject: String, times: Int)
        /// It holds the run back for longer than it mostly does.
        case longerThanMostly(Basis)
    }

    /// The least number of earlier times that make an estimate.
    public static let fewestTimes = 3
}

extension LikelyStart {
    /// What follows from what holds a run back: the latest of all that has to come to pass.
    init(_ factors: [JobExplanation.Factor], now: Instant, expiresAt: Instant?) {
        let releases = factors.filter { $0.standing == .unmet }
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

    /// When one factor stops to be in the way.
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
            case .meet, .makeKnown, .finish, .attemptGone, .place, nil:
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
