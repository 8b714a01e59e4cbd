import Testing

@testable import ClarityScheduler

/// Holds the schedule against a walk that looks at a zone's clock minute by minute.
@Suite(.enabled(if: SystemZones.isInstalled))
struct CronReferenceTests {
    private static let expressions = [
        "30 1 * * *", "0,30 2 * * *", "10 1-4 * * *", "59 23 * * *", "0 0 * * *",
        "*/15 * * * *", "15 */2 * * *", "*/20 2 * * *",
    ]

    @Test(arguments: [
        "Europe/London", "Europe/Dublin", "America/New_York", "America/Nuuk",
        "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca",
        "Asia/Gaza", "Antarctica/Troll",
    ])
    func `around every change until 2030 occurrences are those of a clock on the wall`(
        identifier: String
    ) throws {
        let zone = try SystemZones.zone(identifier)
        let expressions = try CronReferenceTests.expressions.map { try CronExpression($0) }
        var wrong: [String] = []
        var changes = 0

        var change = zone.span(at: 1_325_000_000).end
        while change < 1_893_456_000 {
            changes += 1
            let window = change - 3 * 3600 + 17..<change + 3 * 3600
            for expression in expressions {
                let expected = wall(expression, zone, window)
                let due = Schedule.cron(expression, zone).due(
                    after: Instant(secondsSince1970: window.lowerBound - 1),
                    through: Instant(secondsSince1970: window.upperBound - 1),
                    anchor: Instant(secondsSince1970: 0))
                let found = occurrences(expression, zone, window)
                if found != expected || due?.count ?? 0 != expected.count
                    || due?.first.secondsSince1970 != expected.first
                    || due?.latest.secondsSince1970 != expected.last
                {
                    wrong.append("\(expression) at \(Instant(secondsSince1970: change))")
                }
            }
            change = zone.span(at: change).end
        }

        #expect(wrong == [])
        #expect(changes >= 1)
    }

    private func occurrences(
        _ expression: CronExpression, _ zone: Zone, _ window: Range<Int64>
    ) -> [Int64] {
        let schedule = Schedule.cron(expression, zone)
        var found: [Int64] = []
        var last = Instant(secondsSince1970: window.lowerBound - 1)
        while let next = schedule.next(after: last, anchor: last),
            next.secondsSince1970 < window.upperBound
        {
            found.append(next.secondsSince1970)
            last = next
        }
        return found
    }

    /// Watches the clock: a wildcard fires when it shows a named minute, a fixed time when the
    /// clock first reaches or passes it.
    private func wall(
        _ expression: CronExpression, _ zone: Zone, _ window: Range<Int64>
    ) -> [Int64] {
        var span = zone.span(at: window.lowerBound)
        func shown(_ instant: Int64) -> Int64 {
            if !(span.start..<span.end).contains(instant) { span = zone.span(at: instant) }
            return instant + span.offset
        }
        func isNamed(_ local: Int64) -> Bool {
            let time = CivilTime(local * 1000)
            return time.second == 0 && expression.minutes.contains(time.minute)
                && expression.hours.contains(time.hour)
        }
        var fired: [Int64] = []
        // The zones of this suite change on the minute, so a look at each minute misses nothing.
        var instant = (window.lowerBound / 60 - 3 * 60) * 60
        var furthest = shown(instant)
        while instant < window.upperBound {
            let local = shown(instant)
            let isDue =
                expression.isWildcard
                ? isNamed(local)
                : local > furthest
                    && stride(from: furthest + 60, through: local, by: 60).contains(where: isNamed)
            if isDue, window.contains(instant) { fired.append(instant) }
            furthest = max(furthest, local)
            instant += 60
        }
        return fired
    }
}
