/// The occurrences of an expression's times on the clock of a zone.
///
/// Each method walks the spans of constant offset, within which the clock runs evenly. At a change,
/// a fixed time depends on the furthest time that the clock has shown before. Times that the clock
/// skips from there fire at the change, and times that it repeats do not fire again.
struct ClockOccurrences {
    let times: ClockTimes
    let zone: Zone

    /// Returns the first occurrence in a range of milliseconds since 1970.
    func first(in window: Range<Int64>) -> Int64? {
        var next = firstSpan(of: window)
        while let span = next {
            let part = part(of: span, in: window)
            if let change = part.change { return change }
            if let time = times.first(in: part.times) { return time - span.offset }
            next = self.span(after: span, in: window)
        }
        return nil
    }

    /// Returns the last occurrence in a range of milliseconds since 1970.
    func last(in window: Range<Int64>) -> Int64? {
        var previous = window.isEmpty ? nil : span(at: window.upperBound - 1)
        while let span = previous {
            let part = part(of: span, in: window)
            if let time = times.last(in: part.times) { return time - span.offset }
            if let change = part.change { return change }
            previous = span.start > window.lowerBound ? self.span(at: span.start - 1) : nil
        }
        return nil
    }

    /// Returns the number of occurrences in a range of milliseconds since 1970.
    func count(in window: Range<Int64>) -> Int {
        var count = 0
        var next = firstSpan(of: window)
        while let span = next {
            let part = part(of: span, in: window)
            count += times.count(in: part.times) + (part.change == nil ? 0 : 1)
            next = self.span(after: span, in: window)
        }
        return count
    }

    private func firstSpan(of window: Range<Int64>) -> Span? {
        window.isEmpty ? nil : span(at: window.lowerBound)
    }

    private func span(after span: Span, in window: Range<Int64>) -> Span? {
        span.end < window.upperBound ? self.span(at: span.end) : nil
    }

    /// A span of constant offset, in milliseconds.
    private struct Span {
        var start: Int64
        var end: Int64
        var offset: Int64
    }

    private func span(at instant: Int64) -> Span {
        let span = zone.span(at: instant.flooredQuotient(1000))
        return Span(
            start: max(span.start, Self.bounds.lowerBound) * 1000,
            end: min(span.end, Self.bounds.upperBound) * 1000, offset: span.offset * 1000)
    }

    /// The seconds to which an offset can be added in milliseconds without overflow; far beyond
    /// every window.
    private static var bounds: ClosedRange<Int64> {
        let most = max(-Zone.offsetSeconds.lowerBound, Zone.offsetSeconds.upperBound)
        return Zone.earliest + most...Zone.latest - most
    }

    /// The occurrences within a span of constant offset.
    private struct Part {
        /// The span's start, if fixed times that the clock skipped fire there; `nil` otherwise.
        var change: Int64?
        /// The range of the clock's time in which the named times fire.
        var times: Range<Int64>
    }

    private func part(of span: Span, in window: Range<Int64>) -> Part {
        var lower = max(window.lowerBound, span.start) + span.offset
        let upper = min(window.upperBound, span.end) + span.offset
        guard !times.isWildcard else { return Part(times: lower..<upper) }
        let reached = furthest(before: span)
        lower = max(lower, reached)
        let start = span.start + span.offset
        var change: Int64?
        if window.contains(span.start), reached < start, times.first(in: reached..<start) != nil {
            change = span.start
            // A time that is due at the change itself is the same occurrence.
            if lower == start { lower += 1 }
        }
        return Part(change: change, times: lower..<max(lower, upper))
    }

    /// Returns the furthest time that the clock showed before a span; the span's own start if it is
    /// the first span.
    private func furthest(before span: Span) -> Int64 {
        // A span that ended longer ago than the largest difference of two offsets cannot have shown
        // a later time.
        let reach = (Zone.offsetSeconds.upperBound - Zone.offsetSeconds.lowerBound) * 1000
        let earliest = Self.bounds.lowerBound * 1000
        var result: Int64?
        var start = span.start
        while start > earliest, start > span.start - reach {
            let earlier = self.span(at: start - 1)
            result = max(result ?? .min, earlier.end + earlier.offset)
            start = earlier.start
        }
        return result ?? span.start + span.offset
    }
}
