import Testing

@testable import ClarityScheduler

/// Compares schedules with a minute-by-minute walk around every change of every installed zone from
/// 1970 to 2039. From 2038 on, only a zone's rule in its footer defines the changes.
@Suite(.enabled(if: SystemZones.isInstalled))
struct ZoneTransitionTests {
    private typealias Watched = ClockOnTheWall.Watched

    private static let watched: [Watched] = [
        Watched(rule: "0 0-23 * * *", isWildcard: false) { $1 == 0 },
        Watched(rule: "17,47 0-23/2 * * *", isWildcard: false) {
            $0 % 2 == 0 && [17, 47].contains($1)
        },
        Watched(rule: "30 2 * * *", isWildcard: false) { $0 == 2 && $1 == 30 },
        Watched(rule: "30 0-2 * * sun", isWildcard: false, weekdays: 0...0) {
            $0 < 3 && $1 == 30
        },
        Watched(rule: "0..23:10,50", isCalendar: true, isWildcard: false) {
            [10, 50].contains($1)
        },
        Watched(rule: "02:00..59/20", isCalendar: true, isWildcard: false) {
            $0 == 2 && $1 % 20 == 0
        },
        Watched(
            rule: "Mon..Sat *-*-* 23,00,01,03:05", isCalendar: true, isWildcard: false,
            weekdays: 1...6
        ) { [23, 0, 1, 3].contains($0) && $1 == 5 },
        Watched(rule: "*/30 * * * *", isWildcard: true) { $1 % 30 == 0 },
        Watched(rule: "5 */2 * * *", isWildcard: true) { $0 % 2 == 0 && $1 == 5 },
        Watched(rule: "*/20 2 * * *", isWildcard: true) { $0 == 2 && $1 % 20 == 0 },
        Watched(rule: "*:05/40", isCalendar: true, isWildcard: true) { $1 == 5 || $1 == 45 },
        Watched(
            rule: "Sun *-*-* *:15", isCalendar: true, isWildcard: true, weekdays: 0...0
        ) { $1 == 15 },
    ]

    @Test func `at every change of every zone occurrences are those of a clock on the wall`()
        async throws
    {
        let installed = try InstalledZoneFiles()
        let slices = 4

        var walk = try Walk()
        try await withThrowingTaskGroup { group in
            for slice in 0..<slices {
                group.addTask {
                    var walk = try Walk()
                    for index in stride(
                        from: slice, to: installed.zones.count, by: slices)
                    {
                        walk.look(at: installed.zones[index])
                    }
                    return walk
                }
            }
            for try await part in group { walk.add(part) }
        }

        print(
            "\(installed.files) files of zones, \(installed.zones.count) distinct, "
                + "\(installed.refused) with leap seconds; \(walk.changes) changes of the clock, "
                + "\(walk.checks) checks, \(walk.occurrences) occurrences")
        #expect(walk.wrong == [])
        #expect(walk.changes > 10_000)
        #expect(walk.occurrences > walk.changes)
    }

    /// The results of walks over some zones.
    private struct Walk: Sendable {
        let schedules: [(rule: String, isCalendar: Bool)]
        let clock: ClockOnTheWall
        private let cron: [CronExpression?]
        private let calendar: [CalendarExpression?]
        private(set) var changes = 0
        private(set) var checks = 0
        private(set) var occurrences = 0
        private(set) var wrong: [String] = []
        /// The changes whose occurrences were checked one by one; many zones change alike.
        private var walked: Set<[Int64]> = []

        init() throws {
            let watched = ZoneTransitionTests.watched
            schedules = watched.map { ($0.rule, $0.isCalendar) }
            clock = ClockOnTheWall(watched)
            cron = try watched.map { $0.isCalendar ? nil : try CronExpression($0.rule) }
            calendar = try watched.map { $0.isCalendar ? try CalendarExpression($0.rule) : nil }
        }

        mutating func add(_ other: Walk) {
            changes += other.changes
            checks += other.checks
            occurrences += other.occurrences
            wrong += other.wrong
        }

        mutating func look(at zone: Zone) {
            let rules = zip(cron, calendar).compactMap { cron, calendar in
                cron.map { Schedule.cron($0, zone) } ?? calendar.map { Schedule.calendar($0, zone) }
            }
            // 2040-01-01T00:00:00Z.
            let end: Int64 = 2_208_988_800
            var before = zone.span(at: 0)
            while before.end < end {
                let after = zone.span(at: before.end)
                changes += 1
                look(at: before, after, zone, rules)
                before = after
            }
        }

        private mutating func look(
            at before: Zone.Span, _ after: Zone.Span, _ zone: Zone, _ rules: [Schedule]
        ) {
            let change = after.start
            let reach = min(abs(after.offset - before.offset), 3 * 3600) + 3600
            let window = change - reach..<change + reach
            let expected = clock.fired(in: window, zone)
            let earlier = zone.span(at: max(before.start - 1, Zone.earliest))
            let shape = [
                change, earlier.offset, max(before.start, change - 48 * 3600), before.offset,
                after.offset, min(after.end, change + 48 * 3600), zone.span(at: after.end).offset,
            ]
            let isNew = walked.insert(shape).inserted
            for (index, schedule) in rules.enumerated() {
                checks += 1
                occurrences += expected[index].count
                let found =
                    isNew
                    ? nexts(of: schedule, in: window) == expected[index]
                        && due(schedule, in: window, are: expected[index])
                    : due(schedule, in: window, are: expected[index])
                if !found { wrong.append("\(schedule) at \(Instant(secondsSince1970: change))") }
            }
        }

        private func nexts(of schedule: Schedule, in window: Range<Int64>) -> [Int64] {
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

        private func due(
            _ schedule: Schedule, in window: Range<Int64>, are expected: [Int64]
        ) -> Bool {
            let due = schedule.due(
                after: Instant(secondsSince1970: window.lowerBound - 1),
                through: Instant(secondsSince1970: window.upperBound - 1),
                anchor: Instant(secondsSince1970: 0))
            return due?.count ?? 0 == expected.count
                && due?.first.secondsSince1970 == expected.first
                && due?.latest.secondsSince1970 == expected.last
        }
    }
}
