import ClarityScheduler

/// `schedule:` as written in the file.
struct ScheduleDraft: Sendable {
    var every: Field<Duration>?
    var cron: Field<CronRule>?
    var calendar: Field<CalendarExpression>?
    var at: Field<Instant>?
    var phase: Field<Duration>?
    var flex: Field<Duration>?
    var timeZone: Field<Zone>?
    var notBefore: Field<Instant>?
    var notAfter: Field<Instant>?
    var randomizedDelay: Field<Duration>?
    var earliestBegin: Field<Duration>?

    static let shape = MappingSchema(
        ScheduleDraft(),
        [
            Key(
                "every", { swap(&$0.every, &$1) }, .duration(.seconds(1)...year),
                "time between two occurrences"),
            Key(
                "cron", { swap(&$0.cron, &$1) }, .cron,
                "minute, hour, day, month and weekday as in crontab(5), or `@reboot`"),
            Key(
                "calendar", { swap(&$0.calendar, &$1) }, .calendar,
                "weekdays, date and time as in systemd.time(7)"),
            Key(
                "at", { swap(&$0.at, &$1) }, .instant,
                "the one time at which the job runs"),
            Key(
                "phase", { swap(&$0.phase, &$1) }, .duration(.zero...year),
                "offset of `every` from whole periods, counted in UTC; without it from when the "
                    + "job was first seen"),
            Key(
                "flex", { swap(&$0.flex, &$1) }, .duration(.zero...year), standard: "0s",
                "how early before `every` a run may start"),
            Key(
                "time_zone", { swap(&$0.timeZone, &$1) }, .timeZone,
                "time zone of `cron`, `calendar` and `window`; without it that of `defaults`"),
            Key(
                "not_before", { swap(&$0.notBefore, &$1) }, .instant,
                "first time of the schedule"),
            Key(
                "not_after", { swap(&$0.notAfter, &$1) }, .instant,
                "last time of the schedule"),
            Key(
                "randomized_delay", { swap(&$0.randomizedDelay, &$1) },
                .duration(.zero ... .seconds(86_400)), standard: "0s",
                "delays every occurrence by a fixed part of this, different for each machine "
                    + "and job"),
            Key(
                "earliest_begin", { swap(&$0.earliestBegin, &$1) }, .duration(.zero...year),
                standard: "0s", "least time between the end of a run and the start of the next"),
        ])

    /// Whether the job runs after the machine has started, and at no time that is known in advance.
    var startsAtBoot: Bool { if case .reboot = cron?.value { true } else { false } }

    private static let year: Duration = .seconds(366 * 86_400)

    /// The keys that name occurrences, exactly one of which is required, and those of them that are
    /// given.
    static let rules = ["every", "cron", "calendar", "at"]
    var givenRules: [String] {
        let given = [every != nil, cron != nil, calendar != nil, at != nil]
        return zip(Self.rules, given).filter(\.1).map(\.0)
    }
}

/// The value of `cron:`.
enum CronRule: Sendable {
    case times(CronExpression)
    /// At the first start of a scheduler after the machine has started.
    case reboot
}
