/// The kind and the time of an aggregate, by which others of the same are found.
///
/// Of a night are those that have more than half of the shorter one in common with it, since a late
/// record moves its bounds; of a day, those that have half, since another time zone does. Of another
/// kind, those of the same start and end.
struct AggregateTime: Hashable {
    /// How far the starts of two days or nights lie apart at most.
    static let reach: Int64 = 48 * 3600

    /// How long a day of a time zone may be, in seconds.
    static let dayLengths: ClosedRange<Int64> = 23 * 3600...25 * 3600
    /// Clocks change by whole half hours.
    private static let clockStep: Int64 = 1800

    let kind: SampleKind
    let start: Int64
    let end: Int64

    /// Whether it is a day or a night, whose source may change from one reading to the next.
    var isWhole: Bool { kind == .sleep || kind == .activity }

    /// Where others of the same begin.
    var starts: ClosedRange<Int64> {
        guard isWhole else { return start...start }
        let length = min(max(0, end - start), AggregateTime.reach)
        return start - AggregateTime.reach...start + length
    }

    /// Whether an aggregate of the kind is one of the same.
    func matches(start otherStart: Int64, end otherEnd: Int64) -> Bool {
        if start == otherStart, end == otherEnd { return true }
        guard isWhole, starts.contains(otherStart) else { return false }
        let common = min(end, otherEnd) - max(start, otherStart)
        let shorter = min(end - start, otherEnd - otherStart)
        return 2 * common > shorter || kind == .activity && common > 0 && 2 * common == shorter
    }

    /// Whether an activity of the same time is the day of another time zone. One that is no whole
    /// day, such as the day so far, is not.
    func isShifted(start otherStart: Int64, end otherEnd: Int64) -> Bool {
        kind == .activity && (start, end) != (otherStart, otherEnd)
            && AggregateTime.isDay(end - start) && AggregateTime.isDay(otherEnd - otherStart)
    }

    private static func isDay(_ length: Int64) -> Bool {
        dayLengths.contains(length) && length % clockStep == 0
    }
}
