/// When a job's occurrences are.
///
/// An occurrence is known by its instant, `delay` included: that is what the history keeps, and what
/// questions and answers here are about. The bounds are about what the rule names, before it is
/// delayed: a delay moves an occurrence and never makes or takes one.
public struct Schedule: Hashable, Sendable {
    /// What names the occurrences.
    public enum Rule: Hashable, Sendable {
        /// Equal spans of elapsed time of at least 1 ms: from the job's anchor on, itself the
        /// first; or, with a phase, from 1970-01-01T00:00:00Z and the phase on, whatever the
        /// anchor.
        case every(Duration, phase: Duration?)
        /// The minutes that five fields name, on the clock of a zone.
        case cron(CronExpression, Zone)
        /// The times that a calendar expression names, on the clock of a zone, which is the one that
        /// the expression names if it does.
        case calendar(CalendarExpression, Zone)
        /// Once.
        case at(Instant)
    }

    public var rule: Rule
    /// What the rule names before this instant does not count.
    public var notBefore: Instant?
    /// What the rule names after this instant does not count.
    public var notAfter: Instant?
    /// How much later than the rule says each occurrence is; zero or more, in whole milliseconds.
    public var delay: Duration
    /// How much earlier than its occurrence a run may start where the process is awake anyway and
    /// nothing holds it back; zero or more. The schedule itself does not look at it.
    public var flex: Duration

    /// Creates a schedule, unchecked.
    public init(
        _ rule: Rule, notBefore: Instant? = nil, notAfter: Instant? = nil,
        delay: Duration = .zero, flex: Duration = .zero
    ) {
        self.rule = rule
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.delay = delay
        self.flex = flex
    }

    /// A schedule without bounds of equal spans.
    public static func every(_ period: Duration, phase: Duration? = nil) -> Schedule {
        Schedule(.every(period, phase: phase))
    }

    /// A schedule without bounds of a cron expression.
    public static func cron(_ expression: CronExpression, _ zone: Zone) -> Schedule {
        Schedule(.cron(expression, zone))
    }

    /// A schedule without bounds of a calendar expression.
    public static func calendar(_ expression: CalendarExpression, _ zone: Zone) -> Schedule {
        Schedule(.calendar(expression, zone))
    }

    /// A schedule of one occurrence.
    public static func at(_ instant: Instant) -> Schedule { Schedule(.at(instant)) }

    /// The first occurrence strictly after an instant; `nil` when there is none.
    ///
    /// Only `every` without a phase looks at `anchor`. The search ends: of a cron or calendar
    /// expression it finds what comes within 40 years, the longest that one which fires at all can
    /// wait (29 February on a given day of the week, across the year 2100), or in the years that the
    /// expression names; in the years 0 to 9999.
    public func next(after instant: Instant, anchor: Instant) -> Instant? {
        let lower = lowerBound(after: instant)
        guard let named = rule.next(after: lower, anchor: anchor), named <= notAfter ?? named else {
            return nil
        }
        return delayed(named)
    }

    /// The occurrences strictly after `considered` and not after `now`; `nil` when there is none.
    ///
    /// Takes constant time for `every` and `at`. For the others it walks days and not occurrences:
    /// some milliseconds for a decade of minutes.
    public func due(
        after considered: Instant, through now: Instant, anchor: Instant
    ) -> DueOccurrences? {
        let (lower, upper) = (lowerBound(after: considered), upperBound(through: now))
        guard lower < upper, let due = rule.due(after: lower, through: upper, anchor: anchor) else {
            return nil
        }
        return DueOccurrences(
            first: due.first + delay, latest: due.latest + delay, count: due.count)
    }

    /// The last `count` occurrences strictly after `considered` and not after `now`, oldest first;
    /// fewer when there are fewer.
    ///
    /// Takes time for what it returns and not for what is due: it walks backwards from `now`.
    public func latest(
        _ count: Int, after considered: Instant, through now: Instant, anchor: Instant
    ) -> [Instant] {
        let (lower, upper) = (lowerBound(after: considered), upperBound(through: now))
        guard lower < upper, count > 0 else { return [] }
        return rule.latest(count, after: lower, through: upper, anchor: anchor)
            .reversed().map { $0 + delay }
    }

    /// Whether the schedule certainly has no occurrence in any year.
    ///
    /// `every` without a phase may still have none when bounds hold it: that depends on its anchor.
    public var neverFires: Bool {
        if let notBefore, let notAfter, notAfter < notBefore { return true }
        if case .every(_, nil) = rule { return false }
        let earliest = Instant(millisecondsSince1970: .min)
        return next(after: earliest, anchor: earliest) == nil
    }

    // MARK: From occurrences to what the rule names

    private func lowerBound(after instant: Instant) -> Instant {
        let undelayed = undelayed(instant)
        guard let notBefore, notBefore.millisecondsSince1970 > .min else { return undelayed }
        return max(undelayed, notBefore - .milliseconds(1))
    }

    private func upperBound(through instant: Instant) -> Instant {
        let undelayed = undelayed(instant)
        return notAfter.map { min(undelayed, $0) } ?? undelayed
    }

    private func undelayed(_ instant: Instant) -> Instant {
        let (milliseconds, overflow) = instant.millisecondsSince1970
            .subtractingReportingOverflow(delay.milliseconds)
        return Instant(millisecondsSince1970: overflow ? .min : milliseconds)
    }

    /// `nil` when no `Instant` is as late.
    private func delayed(_ instant: Instant) -> Instant? {
        let (milliseconds, overflow) = instant.millisecondsSince1970
            .addingReportingOverflow(delay.milliseconds)
        return overflow ? nil : Instant(millisecondsSince1970: milliseconds)
    }
}
