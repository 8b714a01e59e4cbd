/// The kind and the time of an aggregate, by which others of the same are found.
///
/// Of a day or a night are those that have more than half of the shorter one in common with it: a late
/// record moves the bounds of a night, and another zone those of a day. Of another kind, those of the
/// same start and end.
struct AggregateTime: Hashable {
    /// How far the starts of two days or nights lie apart at most.
    static let reach: Int64 = 48 * 3600

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
        return 2 * common > min(end - start, otherEnd - otherStart)
    }
}
