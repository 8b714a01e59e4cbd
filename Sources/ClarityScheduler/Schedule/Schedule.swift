/// The schedule of a job, which names its occurrences.
///
/// An occurrence is identified by its instant, including `delay`: the history keeps that instant,
/// and the methods of this type take and return it. The bounds apply to the instants of the rule,
/// before the delay: a delay moves an occurrence and never adds or removes one.
public struct Schedule: Hashable, Sendable {
    /// The rule that names the occurrences.
    public enum Rule: Hashable, Sendable {
        /// Equal spans of elapsed time of at least 1 ms. Without a phase they start at the job's
        /// anchor, which is the first occurrence. With a phase they start at 1970-01-01T00:00:00Z
        /// plus the phase, whatever the anchor is.
        case every(Duration, phase: Duration?)
        /// The minutes that a cron expression names, on the clock of a zone.
        case cron(CronExpression, Zone)
        /// The times that a calendar expression names, on the clock of a zone; if the expression
        /// names a zone, it is that one.
        case calendar(CalendarExpression, Zone)
        /// A single instant.
        case at(Instant)
    }

    public var rule: Rule
    /// Instants of the rule before this one do not count.
    public var notBefore: Instant?
    /// Instants of the rule after this one do not count.
    public var notAfter: Instant?
    /// How much later each occurrence is than the rule says; zero or more, in whole milliseconds.
    public var delay: Duration
    /// How much earlier than its occurrence a run may start if nothing holds it back; zero or more.
    /// The schedule itself does not use it.
    public var flex: Duration

    /// Creates a schedule without checking it.
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

    /// Creates a schedule of equal spans, without bounds.
    public static func every(_ period: Duration, phase: Duration? = nil) -> Schedule {
        Schedule(.every(period, phase: phase))
    }

    /// Creates a schedule of a cron expression, without bounds.
    public static func cron(_ expression: CronExpression, _ zone: Zone) -> Schedule {
        Schedule(.cron(expression, zone))
    }

    /// Creates a schedule of a calendar expression, without bounds.
    public static func calendar(_ expression: CalendarExpression, _ zone: Zone) -> Schedule {
        Schedule(.calendar(expression, zone))
    }

    /// Creates a schedule of one occurrence.
    public static func at(_ instant: Instant) -> Schedule { Schedule(.at(instant)) }

    /// Returns the first occurrence strictly after an instant; `nil` if there is none.
    ///
    /// Only `every` without a phase uses `anchor`. The search is finite: for a cron or calendar
    /// expression it covers the years that the expression names, or else 40 years, and only the
    /// years 0 to 9999. 40 years is the longest that an expression which fires at all can wait (29
    /// February on a given weekday, across the year 2100).
    public func next(after instant: Instant, anchor: Instant) -> Instant? {
        let lower = lowerBound(after: instant)
        guard let named = rule.next(after: lower, anchor: anchor), named <= notAfter ?? named else {
            return nil
        }
        return delayed(named)
    }

    /// Returns the occurrences strictly after `considered` and up to `now`, or `nil` for none.
    ///
    /// Takes constant time for `every` and `at`. For the others it walks days, not occurrences:
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

    /// Returns the last `count` occurrences strictly after `considered` and up to `now`, oldest
    /// first; fewer if there are fewer.
    ///
    /// The time depends on what it returns, not on what is due: it walks backwards from `now`.
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
    /// `every` without a phase may have none within its bounds even if this is `false`: that
    /// depends on its anchor.
    public var neverFires: Bool {
        if let notBefore, let notAfter, notAfter < notBefore { return true }
        if case .every(_, nil) = rule { return false }
        let earliest = Instant(millisecondsSince1970: .min)
        return next(after: earliest, anchor: earliest) == nil
    }

    // MARK: From occurrences to instants of the rule

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

    /// Returns `nil` if the result would be later than any `Instant`.
    private func delayed(_ instant: Instant) -> Instant? {
        let (milliseconds, overflow) = instant.millisecondsSince1970
            .addingReportingOverflow(delay.milliseconds)
        return overflow ? nil : Instant(millisecondsSince1970: milliseconds)
    }
}

extension Schedule: CustomStringConvertible {
    /// The schedule as people write it: `every 1h phase 10m flex 5m`,
    /// `cron 0 6,18 * * * Europe/London +7m30s`, `at 2026-11-20T06:00:00Z`; bounds follow as
    /// `not before` and `not after`.
    public var description: String {
        var parts = [rule.description]
        if flex > .zero { parts.append("flex \(joined(flex))") }
        if delay > .zero { parts.append("+\(joined(delay))") }
        if let notBefore { parts.append("not before \(notBefore)") }
        if let notAfter { parts.append("not after \(notAfter)") }
        return parts.joined(separator: " ")
    }
}

extension Schedule.Rule: CustomStringConvertible {
    /// The rule as people write it, with the zone of its clock.
    public var description: String {
        switch self {
        case .every(let period, nil): "every \(joined(period))"
        case .every(let period, let phase?): "every \(joined(period)) phase \(joined(phase))"
        case .cron(let expression, let zone): "cron \(expression) \(zone.identifier)"
        case .calendar(let expression, let zone):
            "calendar \(expression)"
                + (expression.timeZone == nil ? " \(zone.identifier)" : "")
        case .at(let instant): "at \(instant)"
        }
    }
}

/// Returns a span without blanks: `1h30m`.
private func joined(_ span: Duration) -> String { span.text.filter { $0 != " " } }

/// What happens to missed occurrences.
public enum CatchUpPolicy: Hashable, Sendable {
    /// One run stands for all of them, for the latest occurrence.
    case latest
    /// They get no run: they are recorded as skipped, or as paused if only a pause was in the way.
    case none
    /// Each gets a run of its own, one after the other, within bounds.
    case all(CatchUpBounds)

    /// The span over which caught-up runs are spread; zero without a spread.
    public var longestSpread: Duration {
        if case .all(let bounds) = self { bounds.spread } else { .zero }
    }
}

/// How much is caught up when every missed occurrence gets a run.
public struct CatchUpBounds: Hashable, Sendable {
    /// The maximum number of the job's runs that wait at a time, at least 1. The latest occurrences
    /// get them; the others are recorded as skipped.
    public var atMost: Int
    /// The age above which an occurrence is recorded as expired; `nil` for no limit.
    public var window: Duration?
    /// The span over which the runs are spread, in equal steps from the start of the first one.
    /// Zero starts each run as soon as the previous one has finished.
    public var spread: Duration

    /// Creates bounds.
    public init(atMost: Int = 100, window: Duration? = nil, spread: Duration = .zero) {
        self.atMost = atMost
        self.window = window
        self.spread = spread
    }

    /// The maximum of `atMost`.
    public static let largestCount = 1000
    /// The maximum of `spread`: a week.
    public static let longestSpread: Duration = .seconds(7 * 86_400)
}

/// What happens to an occurrence while a run of the same job is not finished.
///
/// With `skip` and `queue`, a waiting run stands for later occurrences, unless `catch_up` gives
/// each its own run.
public enum OverlapPolicy: String, CaseIterable, Sendable {
    /// The occurrence is recorded as skipped while the run is running.
    case skip
    /// One run waits until the other has finished.
    case queue
    /// The occurrence gets a run; the other run is stopped and cancelled as superseded.
    case replace
}

/// A hash that is the same on every machine, in every process and in every version.
///
/// It is 64-bit FNV-1a with the finalizer of MurmurHash3, so that similar texts get very different
/// values. It is not cryptographic: it hides nothing, and does not resist chosen texts.
public struct StableHash: Sendable {
    private var state: UInt64 = 0xCBF2_9CE4_8422_2325

    /// Creates the hash of an empty input.
    public init() {}

    /// Adds a text; adding `ab` and `c` differs from adding `a` and `bc`.
    public mutating func combine(_ text: String) {
        for byte in text.utf8 { add(byte) }
        // 0xFF never occurs in UTF-8, so it separates the texts.
        add(0xFF)
    }

    /// The hash of everything added so far.
    public var value: UInt64 {
        var value = state
        value = (value ^ value >> 33) &* 0xFF51_AFD7_ED55_8CCD
        value = (value ^ value >> 33) &* 0xC4CE_B9FE_1A85_EC53
        return value ^ value >> 33
    }

    private mutating func add(_ byte: UInt8) {
        state = (state ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }
}

/// Returns the fixed delay of a job's occurrences on a host, which keeps many hosts with the same
/// job file from starting at once: whole milliseconds, from 0 to below `span`.
///
/// The same host and job always have the same delay, whatever the process and its uptime. If it
/// were drawn anew at each start, an occurrence would move whenever the machine starts, and a
/// machine that starts often could put it off for ever. `span` is zero or more.
public func stableDelay(within span: Duration, host: String, job: JobID) -> Duration {
    precondition(span >= .zero, "a delay is within a span of zero or more, got \(span)")
    var hash = StableHash()
    hash.combine(host)
    hash.combine(job.rawValue)
    let (high, _) = hash.value.multipliedFullWidth(by: UInt64(span.milliseconds))
    return .milliseconds(Int64(high))
}
