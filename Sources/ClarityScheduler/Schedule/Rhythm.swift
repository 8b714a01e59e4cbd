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
