extension Zone {
    /// An instant at which a zone's clocks are put forward or back.
    public struct Change: Hashable, Sendable {
        /// The first instant with the new offset.
        public var at: Instant
        /// How far the clocks are ahead of UTC before the change.
        public var before: Duration
        /// How far the clocks are ahead of UTC after the change.
        public var after: Duration

        /// Creates a change.
        public init(at: Instant, before: Duration, after: Duration) {
            self.at = at
            self.before = before
            self.after = after
        }

        /// Whether the clocks skip a span of time; otherwise they repeat one.
        public var isForward: Bool { after > before }
    }

    /// Returns the changes of offset within a range of instants, in order.
    ///
    /// A transition that changes only a zone's abbreviation or its daylight saving flag does not
    /// count. The cost is that of the changes found: two a year in most zones that have any.
    public func changes(in stretch: Range<Instant>) -> [Change] {
        var changes: [Change] = []
        // Starts at the second before the stretch, so that a change at its first instant is found.
        let first = max(stretch.lowerBound.millisecondsSince1970, Int64.min + 1)
        var span = span(at: Instant(millisecondsSince1970: first - 1).secondsSince1970)
        while span.end < Zone.latest {
            let at = Instant(secondsSince1970: span.end)
            guard at < stretch.upperBound else { break }
            let next = self.span(at: span.end)
            if next.offset != span.offset, at >= stretch.lowerBound {
                changes.append(
                    Change(at: at, before: .seconds(span.offset), after: .seconds(next.offset)))
            }
            span = next
        }
        return changes
    }
}
