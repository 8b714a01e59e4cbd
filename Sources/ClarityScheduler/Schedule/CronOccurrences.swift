/// The occurrences of a cron expression on the clock of a zone.
///
/// Both questions walk the spans of constant offset, inside which the clock runs evenly. What a
/// fixed time needs to know at a change is how far the clock ever was: what it jumps over from there
/// fires at the change, what it shows again does not fire.
struct CronOccurrences {
    let expression: CronExpression
    let zone: Zone

    /// The first occurrence in a range of seconds since 1970.
    func first(in window: Range<Int64>) -> Int64? {
        for part in parts(of: window) {
            if let change = part.change { return change }
            if let minute = expression.firstMinute(in: part.minutes) {
                return minute * 60 - part.offset
            }
        }
        return nil
    }

    /// The first, the last and the number of the occurrences in a range of seconds since 1970.
    func all(in window: Range<Int64>) -> (first: Int64, last: Int64, count: Int)? {
        var ends: (first: Int64, last: Int64)?
        var count = 0
        for part in parts(of: window) {
            if let change = part.change {
                ends = (ends?.first ?? change, change)
                count += 1
            }
            if let first = expression.firstMinute(in: part.minutes),
                let last = expression.lastMinute(in: part.minutes)
            {
                ends = (ends?.first ?? first * 60 - part.offset, last * 60 - part.offset)
                count += expression.countMinutes(in: part.minutes)
            }
        }
        return ends.map { ($0.first, $0.last, count) }
    }

    /// What a span of constant offset holds.
    private struct Part {
        /// The span's start, when fixed times that the clock jumped over fire there.
        var change: Int64?
        /// The minutes of the clock in which the expression's own fire.
        var minutes: Range<Int64>
        var offset: Int64
    }

    private func parts(of window: Range<Int64>) -> some Sequence<Part> {
        var next: Zone.Span? = window.isEmpty ? nil : zone.span(at: window.lowerBound)
        // The clock's furthest time so far, in its own seconds.
        var reached = next.map { furthest(before: $0) } ?? 0
        return AnyIterator {
            guard let span = next else { return nil }
            let part = part(of: span, from: reached, in: window)
            reached = max(reached, span.end + span.offset)
            next =
                span.end < min(window.upperBound, Zone.latest) ? zone.span(at: span.end) : nil
            return part
        }
    }

    private func part(
        of span: Zone.Span, from reached: Int64, in window: Range<Int64>
    ) -> Part {
        let start = span.start + span.offset
        var lower = max(window.lowerBound, span.start) + span.offset
        let upper = min(window.upperBound, span.end) + span.offset
        guard !expression.isWildcard else {
            return Part(minutes: fullMinutes(lower, upper), offset: span.offset)
        }
        lower = max(lower, reached)
        var minutes = fullMinutes(lower, upper)
        var change: Int64?
        if window.contains(span.start), reached < start,
            expression.firstMinute(in: fullMinutes(reached, start)) != nil
        {
            change = span.start
            // A time that is due at the change itself is the same occurrence.
            if !minutes.isEmpty, minutes.lowerBound * 60 == start {
                minutes = minutes.lowerBound + 1..<minutes.upperBound
            }
        }
        return Part(change: change, minutes: minutes, offset: span.offset)
    }

    /// The furthest time that the clock showed before a span; the span's own start when it is the
    /// first.
    private func furthest(before span: Zone.Span) -> Int64 {
        // A span that ended longer ago than clocks can be apart cannot have shown a later time.
        let reach = Zone.offsetSeconds.upperBound - Zone.offsetSeconds.lowerBound
        var result: Int64?
        var start = span.start
        while start > Zone.earliest, start > span.start - reach {
            let earlier = zone.span(at: start - 1)
            result = max(result ?? .min, earlier.end + earlier.offset)
            start = earlier.start
        }
        return result ?? span.start + span.offset
    }

    /// The minutes that begin from `lower` to before `upper`, both in seconds.
    private func fullMinutes(_ lower: Int64, _ upper: Int64) -> Range<Int64> {
        let first = -(-lower).flooredQuotient(60)
        return first..<max(first, -(-upper).flooredQuotient(60))
    }
}
