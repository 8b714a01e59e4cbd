/// When a job's occurrences are.
public enum Schedule: Hashable, Sendable {
    /// At the job's anchor and each `period` after it, in elapsed time; at least 1 ms.
    case every(Duration)
    /// At the minutes that five fields name, on the clock of a zone.
    case cron(CronExpression, Zone)
    /// Once.
    case at(Instant)

    /// The first occurrence strictly after an instant; `nil` when there is none.
    ///
    /// `every` counts from `anchor`, which is itself an occurrence and before which there is none;
    /// the others do not look at it. Of a cron expression it finds what comes within 40 years, the
    /// longest that one which fires at all can wait (29 February on a given day of the week, across
    /// the year 2100), in the years 0 to 9999.
    public func next(after instant: Instant, anchor: Instant) -> Instant? {
        switch self {
        case .every(let period):
            return Rhythm(period, from: anchor).next(after: instant)
        case .at(let once):
            return once > instant ? once : nil
        case .cron(let expression, let zone):
            guard !expression.neverFires else { return nil }
            let start = max(instant.secondsSince1970, cronYears.lowerBound - 1)
            let fortyYears: Int64 = 40 * 366 * 86_400
            return CronOccurrences(expression: expression, zone: zone)
                .first(in: cronWindow(after: start, through: start + fortyYears))
                .map { Instant(secondsSince1970: $0) }
        }
    }

    /// The occurrences strictly after `considered` and not after `now`; `nil` when there is none.
    ///
    /// Takes constant time for `every` and `at`. For cron it walks days and not occurrences: some
    /// milliseconds for a decade of minutes.
    public func due(
        after considered: Instant, through now: Instant, anchor: Instant
    ) -> DueOccurrences? {
        guard considered < now else { return nil }
        switch self {
        case .every(let period):
            return Rhythm(period, from: anchor).due(after: considered, through: now)
        case .at(let once):
            return considered < once && once <= now
                ? DueOccurrences(first: once, latest: once, count: 1) : nil
        case .cron(let expression, let zone):
            guard !expression.neverFires else { return nil }
            let window = cronWindow(
                after: considered.secondsSince1970, through: now.secondsSince1970)
            return CronOccurrences(expression: expression, zone: zone).all(in: window)
                .map { found in
                    DueOccurrences(
                        first: Instant(secondsSince1970: found.first),
                        latest: Instant(secondsSince1970: found.last), count: found.count)
                }
        }
    }

    /// The seconds after one and up to another, within the years 0 to 9999.
    private func cronWindow(after first: Int64, through last: Int64) -> Range<Int64> {
        (first + 1..<max(first, last) + 1).clamped(to: cronYears)
    }

    /// The years 0 to 9999 in seconds since 1970.
    private var cronYears: Range<Int64> { -62_167_219_200..<253_402_300_800 }
}
