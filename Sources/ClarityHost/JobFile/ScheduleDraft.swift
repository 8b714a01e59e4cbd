import ClarityScheduler

/// `schedule:` as it stands in the file.
struct ScheduleDraft: Hashable, Sendable {
    var every: Field<Duration>?
    var cron: Field<CronExpression>?
    var calendar: Field<CalendarExpression>?
    var at: Field<Instant>?
    var phase: Field<Duration>?
    var flex: Field<Duration>?
    var timeZone: Field<Zone>?
    var notBefore: Field<Instant>?
    var notAfter: Field<Instant>?
    var randomizedDelay: Field<Duration>?
    var earliestBegin: Field<Duration>?

    static let shape = Shape(
        ScheduleDraft(),
        [
            Key(
                "every", \.every, .duration(.seconds(1)...year),
                "the span between two occurrences"),
            Key("cron", \.cron, .cron, "five fields: minute, hour, day, month, day of the week"),
            Key(
                "calendar", \.calendar, .calendar,
                "weekdays, date and time as systemd.time(7) writes them"),
            Key("at", \.at, .instant, "the one instant at which the job runs"),
            Key(
                "phase", \.phase, .duration(.zero...year),
                "how long after each whole period `every` fires, counted from 1970 in UTC"),
            Key(
                "flex", \.flex, .duration(.zero...year),
                "how much earlier than `every` says a run may start when nothing holds it back"),
            Key(
                "time_zone", \.timeZone, .timeZone,
                "the zone on whose clock `cron` or `calendar` runs"),
            Key("not_before", \.notBefore, .instant, "the instant before which nothing is due"),
            Key("not_after", \.notAfter, .instant, "the instant after which nothing is due"),
            Key(
                "randomized_delay", \.randomizedDelay, .duration(.zero ... .seconds(86_400)),
                "the span in which each machine has a fixed delay of its own"),
            Key(
                "earliest_begin", \.earliestBegin, .duration(.zero...year),
                "the least span between the end of one run and the start of the next"),
        ])

    private static let year: Duration = .seconds(366 * 86_400)

    /// The keys that name occurrences, of which one is wanted, and which of them are given.
    static let rules = ["every", "cron", "calendar", "at"]
    var givenRules: [String] {
        let given = [every != nil, cron != nil, calendar != nil, at != nil]
        return zip(Self.rules, given).filter(\.1).map(\.0)
    }
}
