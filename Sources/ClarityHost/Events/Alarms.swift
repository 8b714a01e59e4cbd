/// The timers that an event thread keeps itself, for a process that is out of descriptors for a
/// timerfd(2).
///
/// The timeout of epoll_wait(2) does not count suspend, but these instants do. So the thread never
/// waits longer than a minute, and after a suspend an alarm is at most a minute late.
struct Alarms {
    private struct Alarm {
        var due: ContinuousClock.Instant
        var ring: @Sendable () -> Void
    }

    private var alarms: [UInt64: Alarm] = [:]
    private var lastNumber: UInt64 = 0

    /// Adds an alarm and returns its number, with which it can be removed.
    mutating func add(
        due: ContinuousClock.Instant, ring: @escaping @Sendable () -> Void
    ) -> UInt64 {
        lastNumber += 1
        alarms[lastNumber] = Alarm(due: due, ring: ring)
        return lastNumber
    }

    /// Removes an alarm. Has no effect if it has rung.
    mutating func remove(_ number: UInt64) { alarms[number] = nil }

    /// Returns how long to sleep in milliseconds, rounded up, as epoll_wait(2) takes it: -1, which
    /// is forever, without an alarm, and at most a minute with one.
    func patience(at now: ContinuousClock.Instant) -> Int32 {
        guard let due = alarms.values.map(\.due).min() else { return -1 }
        let span = min(max(due - now, .zero), .seconds(60))
        let (seconds, attoseconds) = span.components
        let unit: Int64 = 1_000_000_000_000_000
        return Int32(clamping: seconds * 1000 + (attoseconds + unit - 1) / unit)
    }

    /// Removes the alarms that are due and returns their functions to call, so each rings once.
    mutating func takeDue(at now: ContinuousClock.Instant) -> [@Sendable () -> Void] {
        guard !alarms.isEmpty else { return [] }
        let due = alarms.filter { $0.value.due <= now }
        for number in due.keys { alarms[number] = nil }
        return due.values.map(\.ring)
    }
}
