/// Waits that an event thread keeps by itself, for when the system gives no descriptor for a timer.
///
/// epoll_wait(2) does not count the time of a suspend, as these instants do: so none of its waits is
/// longer than a minute, by which an alarm is late after one at most.
struct Alarms {
    private struct Alarm {
        var due: ContinuousClock.Instant
        var ring: @Sendable () -> Void
    }

    private var alarms: [UInt64: Alarm] = [:]
    private var lastNumber: UInt64 = 0

    /// Adds an alarm and returns its number, by which it is taken back.
    mutating func add(
        due: ContinuousClock.Instant, ring: @escaping @Sendable () -> Void
    ) -> UInt64 {
        lastNumber += 1
        alarms[lastNumber] = Alarm(due: due, ring: ring)
        return lastNumber
    }

    /// Takes an alarm back; one that has rung is forgotten already.
    mutating func remove(_ number: UInt64) { alarms[number] = nil }

    /// How long to sleep in milliseconds, rounded up, as epoll_wait(2) counts: -1 for ever, at most a
    /// minute while there is an alarm.
    func patience(at now: ContinuousClock.Instant) -> Int32 {
        guard let due = alarms.values.map(\.due).min() else { return -1 }
        let span = min(max(due - now, .zero), .seconds(60))
        let (seconds, attoseconds) = span.components
        let unit: Int64 = 1_000_000_000_000_000
        return Int32(clamping: seconds * 1000 + (attoseconds + unit - 1) / unit)
    }

    /// What is to be called now; each alarm rings once.
    mutating func takeDue(at now: ContinuousClock.Instant) -> [@Sendable () -> Void] {
        guard !alarms.isEmpty else { return [] }
        let due = alarms.filter { $0.value.due <= now }
        for number in due.keys { alarms[number] = nil }
        return due.values.map(\.ring)
    }
}
