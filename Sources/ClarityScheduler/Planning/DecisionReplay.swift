/// What comes of making a decision again with what it kept of its inputs.
public enum DecisionReplay: Hashable, Sendable {
    /// The same.
    case agrees
    /// Something else: the first line in which the outcomes differ, `nil` where one has ended.
    case differs(recorded: String?, now: String?)
    /// Nothing: the jobs that it was about are not known any more.
    case impossible
}

extension Decision {
    /// Decides again and holds the outcome against the recorded one.
    ///
    /// `jobs` gives the jobs of an origin; `nil` where they are not known any more.
    public func replay(jobs: (_ origin: String) -> JobSet?) -> DecisionReplay {
        guard let again = replayed(jobs: jobs) else { return .impossible }
        for index in 0..<max(outcome.count, again.count) {
            let recorded = index < outcome.count ? outcome[index] : nil
            let now = index < again.count ? again[index] : nil
            if recorded != now { return .differs(recorded: recorded, now: now) }
        }
        return .agrees
    }

    /// The origins of the jobs that it was about.
    public var origins: Set<String> { Set([origin] + inFlight.values.map(\.origin)) }

    /// The lines of the outcome that are about a run.
    public func outcome(about run: RunID) -> [String] {
        outcome.filter { line in
            line.split(separator: "run ", omittingEmptySubsequences: false).dropFirst().contains {
                rest in
                rest.prefix { $0.isNumber } == run.description
            }
        }
    }
}
