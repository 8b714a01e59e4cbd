/// The kind and the time of an aggregate, used to find other rows of the same aggregate.
///
/// Two nights match if they share more than half of the shorter one, because a late record moves
/// the bounds of a night. Two days match if they share at least half of the shorter one, because
/// another time zone moves the bounds of a day. Aggregates of any other kind match if start and end
/// are equal.
struct AggregateTime: Hashable {
    /// The most that the starts of two matching days or nights can be apart, in seconds.
    static let reach: Int64 = 48 * 3600

    /// The possible lengths of a day in a time zone, in seconds.
    static let dayLengths: ClosedRange<Int64> = 23 * 3600...25 * 3600
    /// Clocks change by multiples of half an hour, here in seconds.
    private static let clockStep: Int64 = 1800

    let kind: SampleKind
    let start: Int64
    let end: Int64

    /// Whether it is a day or a night. Its source may change from one reading to the next.
    var isWhole: Bool { kind == .sleep || kind == .activity }

    /// The range in which other rows of the same aggregate can start.
    var starts: ClosedRange<Int64> {
        guard isWhole else { return start...start }
        let length = min(max(0, end - start), AggregateTime.reach)
        return start - AggregateTime.reach...start + length
    }

    /// Whether an aggregate of the same kind, with these bounds, is the same aggregate.
    func matches(start otherStart: Int64, end otherEnd: Int64) -> Bool {
        if start == otherStart, end == otherEnd { return true }
        guard isWhole, starts.contains(otherStart) else { return false }
        let common = min(end, otherEnd) - max(start, otherStart)
        let shorter = min(end - start, otherEnd - otherStart)
        return 2 * common > shorter || kind == .activity && common > 0 && 2 * common == shorter
    }

    /// Whether a matching activity is the day of another time zone. An activity that is not a whole
    /// day, such as the day so far, is not.
    func isShifted(start otherStart: Int64, end otherEnd: Int64) -> Bool {
        kind == .activity && (start, end) != (otherStart, otherEnd)
            && AggregateTime.isDay(end - start) && AggregateTime.isDay(otherEnd - otherStart)
    }

    private static func isDay(_ length: Int64) -> Bool {
        dayLengths.contains(length) && length % clockStep == 0
    }
}
