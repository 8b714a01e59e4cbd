import ClarityScheduler

extension JobPace {
    /// How long the attempt runs and how long it should, as `2h 10m, usually 12m`; `nil`
    /// if nobody knows how long it should.
    func words(at now: Instant) -> String? {
        guard let should else { return nil }
        return "\(JobPace.rounded(now - since).text), \(should)"
    }

    /// How long an attempt of the job takes: what the job file expects, or else what is usual.
    var should: String? {
        expected.map { "expected \($0.text)" }
            ?? usual.map { "usually \(JobPace.rounded($0).text)" }
    }

    /// Returns whole seconds, or whole minutes from ten minutes on.
    private static func rounded(_ span: Duration) -> Duration {
        let seconds = max(span.milliseconds, 0) / 1000
        return .seconds(seconds >= 600 ? seconds / 60 * 60 : seconds)
    }
}
