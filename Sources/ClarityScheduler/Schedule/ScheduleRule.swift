// The instants that a rule names, without bounds and delay.
extension Schedule.Rule {
    /// Returns the first instant that the rule names strictly after another.
    func next(after instant: Instant, anchor: Instant) -> Instant? {
        switch kind {
        case .rhythm(let period, let phase):
            return rhythm(period, phase, anchor).next(after: instant)
        case .once(let once):
            return once > instant ? once : nil
        case .clock(let clock):
            guard !clock.times.neverFires else { return nil }
            let start = clockInstant(instant)
            let days = clock.times.dates.search(from: start.flooredQuotient(86_400_000))
            // One more day, because the clock of the zone may be behind.
            let end = max(start, (days.upperBound + 1) * 86_400_000)
            return clock.first(in: clockWindow(after: start, through: end))
                .map { Instant(millisecondsSince1970: $0) }
        }
    }

    /// Returns what the rule names after `considered` and up to `now`, the later of the two.
    func due(after considered: Instant, through now: Instant, anchor: Instant) -> DueOccurrences? {
        switch kind {
        case .rhythm(let period, let phase):
            return rhythm(period, phase, anchor).due(after: considered, through: now)
        case .once(let once):
            return considered < once && once <= now
                ? DueOccurrences(first: once, latest: once, count: 1) : nil
        case .clock(let clock):
            guard !clock.times.neverFires else { return nil }
            let window = clockWindow(after: clockInstant(considered), through: clockInstant(now))
            guard let first = clock.first(in: window), let last = clock.last(in: window) else {
                return nil
            }
            return DueOccurrences(
                first: Instant(millisecondsSince1970: first),
                latest: Instant(millisecondsSince1970: last), count: clock.count(in: window))
        }
    }

    /// Returns the last `count` instants that the rule names after `considered` and up to `now`,
    /// latest first.
    func latest(
        _ count: Int, after considered: Instant, through now: Instant, anchor: Instant
    ) -> [Instant] {
        var found: [Instant] = []
        switch kind {
        case .rhythm(let period, _):
            guard let due = due(after: considered, through: now, anchor: anchor) else { break }
            found = (0..<min(count, due.count)).map { due.latest - period * $0 }
        case .once:
            found = due(after: considered, through: now, anchor: anchor).map { [$0.latest] } ?? []
        case .clock(let clock):
            guard !clock.times.neverFires else { break }
            var window = clockWindow(after: clockInstant(considered), through: clockInstant(now))
            while found.count < count, let last = clock.last(in: window) {
                found.append(Instant(millisecondsSince1970: last))
                window = window.lowerBound..<last
            }
        }
        return found
    }

    /// The rules by how they are computed; both forms of expression are one.
    private enum Kind {
        case rhythm(Duration, phase: Duration?)
        case clock(ClockOccurrences)
        case once(Instant)
    }

    private var kind: Kind {
        switch self {
        case .every(let period, let phase): .rhythm(period, phase: phase)
        case .cron(let expression, let zone):
            .clock(ClockOccurrences(times: expression.times, zone: zone))
        case .calendar(let expression, let zone):
            .clock(ClockOccurrences(times: expression.times, zone: zone))
        case .at(let instant): .once(instant)
        }
    }

    private func rhythm(_ period: Duration, _ phase: Duration?, _ anchor: Instant) -> Rhythm {
        Rhythm(period, from: phase.map { Instant(millisecondsSince1970: 0) + $0 } ?? anchor)
    }

    /// Returns the milliseconds after `first` and up to `last`, within the years 0 to 9999.
    private func clockWindow(after first: Int64, through last: Int64) -> Range<Int64> {
        (first + 1..<max(first, last) + 1).clamped(to: clockYears)
    }

    /// Returns the milliseconds of an instant, clamped to just before or just after those years.
    private func clockInstant(_ instant: Instant) -> Int64 {
        min(max(instant.millisecondsSince1970, clockYears.lowerBound - 1), clockYears.upperBound)
    }

    /// The years 0 to 9999 in milliseconds since 1970.
    private var clockYears: Range<Int64> { -62_167_219_200_000..<253_402_300_800_000 }
}

/// Occurrences at an anchor and at equal spans after it.
///
/// The arithmetic uses 128 bits, because the distance between two instants need not fit in 64.
struct Rhythm {
    private let anchor: Int128
    private let period: Int128

    init(_ period: Duration, from anchor: Instant) {
        precondition(period.milliseconds >= 1, "a period is at least 1 ms, got \(period)")
        self.anchor = Int128(anchor.millisecondsSince1970)
        self.period = Int128(period.milliseconds)
    }

    /// Returns the first occurrence after an instant; `nil` if no `Instant` is that late.
    func next(after instant: Instant) -> Instant? {
        let elapsed = Int128(instant.millisecondsSince1970) - anchor
        let milliseconds = elapsed < 0 ? anchor : anchor + (elapsed / period + 1) * period
        return Int64(exactly: milliseconds).map { Instant(millisecondsSince1970: $0) }
    }

    /// Returns the occurrences after `considered` and up to `now`; `nil` if there are none.
    func due(after considered: Instant, through now: Instant) -> DueOccurrences? {
        guard let first = next(after: considered), first <= now else { return nil }
        let elapsed = Int128(now.millisecondsSince1970) - Int128(first.millisecondsSince1970)
        let further = elapsed / period
        let latest = Int128(first.millisecondsSince1970) + further * period
        return DueOccurrences(
            first: first, latest: Instant(millisecondsSince1970: Int64(clamping: latest)),
            count: Int(clamping: further + 1))
    }
}

/// The occurrences of a schedule in a span of time that contains at least one.
public struct DueOccurrences: Hashable, Sendable {
    public var first: Instant
    /// The last occurrence; equal to `first` if there is only one.
    public var latest: Instant
    /// The number of occurrences, including both; at least 1.
    public var count: Int

    /// Creates the occurrences from the first to the latest.
    public init(first: Instant, latest: Instant, count: Int) {
        self.first = first
        self.latest = latest
        self.count = count
    }
}
