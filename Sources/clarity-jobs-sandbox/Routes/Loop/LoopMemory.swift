/// The number of requests in each open window. A window begins with its first request.
struct RateWindows {
    private struct Window {
        var end: Timestamp
        var count: Int
    }

    private var windows: [String: Window] = [:]

    /// Counts a request; if the window is already full, returns its end instead.
    mutating func admit(_ key: String, _ limit: RateLimit, at now: Timestamp) -> Timestamp? {
        // Windows that have ended are removed, so that they do not accumulate.
        windows = windows.filter { $0.value.end > now }
        let fresh = Window(end: now + .seconds(limit.seconds), count: 0)
        var window = windows[key] ?? fresh
        guard window.count < limit.count else { return window.end }
        window.count += 1
        windows[key] = window
        return nil
    }
}

/// The addresses with failed logins, and those that are locked.
struct Lockouts {
    private static let strikes = 3
    static let span = Duration.seconds(15 * 60)
    /// The largest number of addresses whose failures are kept; when it is reached, all are
    /// discarded.
    private static let most = 10_000

    private var failures: [String: Int] = [:]
    private var locked: [String: Timestamp] = [:]

    /// Records a failed login.
    mutating func strike(_ email: String) {
        if failures.count >= Lockouts.most { failures = [:] }
        failures[email, default: 0] += 1
    }

    /// Returns whether the address is locked.
    ///
    /// A lock lasts 15 minutes from the first call that finds three failures.
    mutating func isLocked(_ email: String, at now: Timestamp) -> Bool {
        locked = locked.filter { $0.value > now || $0.key == email }
        if let end = locked[email] {
            if end > now { return true }
            forget(email)
            return false
        }
        guard failures[email, default: 0] >= Lockouts.strikes else { return false }
        locked[email] = now + Lockouts.span
        return true
    }

    /// Removes the failures of an address after a successful login.
    mutating func forget(_ email: String) {
        failures[email] = nil
        locked[email] = nil
    }
}

/// Blocks the insights for everybody for a minute after five failures in a row.
struct InsightBreaker {
    private var failures = 0
    private var closedUntil: Timestamp?

    func isClosed(at now: Timestamp) -> Bool { closedUntil.map { now < $0 } ?? false }

    mutating func note(success: Bool, at now: Timestamp) {
        failures = success ? 0 : failures + 1
        guard failures >= 5 else { return }
        failures = 0
        closedUntil = now + .seconds(60)
    }
}
