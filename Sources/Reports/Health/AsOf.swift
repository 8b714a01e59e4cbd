import ClarityScheduler

/// Describes the age of the data that is shown.
enum AsOf {
    /// The age from which data counts as stale: 24 hours.
    static let staleAge = Duration.seconds(24 * 3600)

    /// Returns the age of an instant, such as `3 h ago`: minutes below two hours, hours below two
    /// days, else days, rounded down.
    ///
    /// An instant that lies ahead, as after the clock was set back, is returned as it is, such as
    /// `at 2026-11-21T06:00:00Z`.
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

    /// Returns `synced 3 h ago`, with `, stale` from an age of a day; `never synced` for `nil`.
    static func text(_ word: String, _ instant: Instant?, at now: Instant) -> String {
        guard let instant else { return "never \(word)" }
        return "\(word) \(age(of: instant, at: now))" + (isStale(instant, at: now) ? ", stale" : "")
    }

    /// Returns `synced 3 h ago (2026-11-21T06:00:00Z)`.
    static func fullText(_ word: String, _ instant: Instant?, at now: Instant) -> String {
        guard let instant else { return "never \(word)" }
        let text = text(word, instant, at: now)
        return text.hasSuffix(instant.description) ? text : "\(text) (\(instant))"
    }

    static func isStale(_ instant: Instant?, at now: Instant) -> Bool {
        instant.map { now - $0 >= staleAge } ?? true
    }
}
