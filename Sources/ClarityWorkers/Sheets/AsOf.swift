import ClarityScheduler

/// When what is shown was true, in words.
enum AsOf {
    /// From which age on something is called stale.
    static let staleAge = Duration.seconds(24 * 3600)

    /// `3 h ago`: minutes below two hours, hours below two days, else days, rounded down.
    ///
    /// An instant that lies ahead, as after the clock was put back, is told as it is.
    static func age(of instant: Instant, at now: Instant) -> String {
        let seconds = (now - instant).components.seconds
        switch seconds {
        case ..<(-60): return "at \(instant)"
        case ..<60: return "just now"
        case ..<7200: return "\(seconds / 60) min ago"
        case ..<172_800: return "\(seconds / 3600) h ago"
        default: return "\(seconds / 86_400) d ago"
        }
    }

    /// `synced 3 h ago`, with `, stale` from a day on; `never synced` for none.
    static func text(_ word: String, _ instant: Instant?, at now: Instant) -> String {
        guard let instant else { return "never \(word)" }
        return "\(word) \(age(of: instant, at: now))" + (isStale(instant, at: now) ? ", stale" : "")
    }

    /// `synced 3 h ago (2026-11-21T06:00:00Z)`.
    static func fullText(_ word: String, _ instant: Instant?, at now: Instant) -> String {
        guard let instant else { return "never \(word)" }
        let text = text(word, instant, at: now)
        return text.hasSuffix(instant.description) ? text : "\(text) (\(instant))"
    }

    static func isStale(_ instant: Instant?, at now: Instant) -> Bool {
        instant.map { now - $0 >= staleAge } ?? true
    }
}
