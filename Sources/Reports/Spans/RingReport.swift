public import HealthStore
public import HealthModel
import ClarityScheduler
import JSON

// What a watch counted of days beside their goals: each day, or how often the goals of a month were
// met.
extension HealthReader {
    /// Returns the days that a watch summed up, or how often each month met its goals.
    ///
    /// - Parameters:
    ///   - since: as in `nights(by:since:until:)`.
    ///   - until: as there.
    public func activity(
        by period: SpanPeriod, since: Since?, until: CivilDay?
    ) throws(HealthStoreError) -> HealthReport {
        var report = HealthReport()
        // A summary has a date and no time zone: the archive has it at midnight of UTC.
        let (days, newest) = try span(of: "ActivitySummary", since, until, in: .utc)
        let found = try activity(in: days, &report)
        let absence = "no day is known that a watch summed up"
        switch period {
        case .each:
            report.list(Array(found.reversed()), RingDay.report, style, absence: absence)
        case .month:
            report.list(
                RingMonth.months(of: found), RingMonth.report, style, absence: absence)
        }
        let result = SpanResult(
            period: period, days: days, newest: newest, timeZone: zone.identifier,
            damaged: report.damaged.count, rows: report.records)
        report.page = SpanResult.ofActivity.object(result)
        return report
    }

    /// Returns the summaries of days, the earliest first.
    func activity(
        in days: ClosedRange<Int>, _ report: inout HealthReport
    ) throws(HealthStoreError) -> [RingDay] {
        let around = (days.lowerBound - 1)...(days.upperBound + 1)
        let rows = try singleRecords("ActivitySummary", in: around, &report) ?? []
        var byDay: [Int: RingDay] = [:]
        for row in rows {
            let day = RingDay(row)
            guard days.contains(day.day) else { continue }
            // An export has today as it was so far. A later one has more of the same day.
            if let known = byDay[day.day], known.extent > day.extent { continue }
            byDay[day.day] = day
        }
        return byDay.values.sorted { $0.day < $1.day }
    }
}

/// What a person did on a day beside their own goals: the three rings of a watch.
package struct RingDay: Reported, PrivateValue {
    /// What was done, and the goal.
    struct Ring: Hashable {
        let value: Double
        /// `nil` without a goal.
        let goal: Double?

        var isClosed: Bool { goal.map { value >= $0 } ?? false }

        /// Such as `512 of 500 kcal`.
        func text(_ unit: String) -> String {
            let unit = unit == "Cal" ? "kcal" : unit
            let done = MonthNumbers.grouped(value, decimals: 0)
            return (goal.map { "\(done) of \(MonthNumbers.grouped($0, decimals: 0))" } ?? done)
                + " \(unit)"
        }
    }

    /// The date, in days since 1970-01-01.
    let day: Int
    let move: Ring?
    /// The unit of `move`: of energy, or `min` for somebody whose goal is a time.
    let moveUnit: String
    /// In minutes.
    let exercise: Ring?
    /// In hours with a minute of standing.
    let stand: Ring?

    init(_ row: RecordRow) {
        func number(_ name: String) -> Double? {
            guard let value = row.metadata?[name]?.text.flatMap(Double.init), value.isFinite,
                value >= 0
            else { return nil }
            return value
        }
        func ring(_ name: String) -> Ring? {
            number(name).map { value in
                let goal = number("\(name)Goal") ?? 0
                return Ring(value: value, goal: goal > 0 ? goal : nil)
            }
        }
        day = Int(LocalDays.quotient(row.at, 86_400))
        let time = ring("appleMoveTime")
        let isTimed = time?.goal != nil
        move = isTimed ? time : ring("activeEnergyBurned")
        moveUnit = isTimed ? "min" : row.metadata?["activeEnergyBurnedUnit"]?.text ?? "kcal"
        exercise = ring("appleExerciseTime")
        stand = ring("appleStandHours")
    }

    /// How much of the day it has: what it counts only grows.
    fileprivate var extent: Double {
        [move, exercise, stand].reduce(0) { $0 + ($1?.value ?? 0) }
    }

    /// Whether every ring with a goal is closed; a day without goals is not.
    var isWhole: Bool {
        let aimed = [move, exercise, stand].compactMap(\.self).filter { $0.goal != nil }
        return !aimed.isEmpty && aimed.allSatisfy(\.isClosed)
    }

    private static func ring(
        _ name: String, _ what: String, _ heading: String, unit: String?,
        _ value: @escaping @Sendable (RingDay) -> Ring?
    ) -> [Column<RingDay>] {
        [
            Column(name, what) { value($0).map { RoundedNumber($0.value) } }
                .shown(heading, isNumber: true) { day in
                    value(day).map { $0.text(unit ?? day.moveUnit) } ?? "-"
                }.csv(),
            Column("\(name)_goal", "the goal") { value($0)?.goal.map { RoundedNumber($0) } }.csv(),
        ]
    }

    package static let report = Report<RingDay>(
        [Column("day", "the day") { CivilDay(daysSince1970: $0.day) }.shown("DAY").csv()]
            + ring("move", "active energy, or minutes of movement", "MOVE", unit: nil) { $0.move }
            + [Column("move_unit", "the unit of `move`") { $0.moveUnit }.csv()]
            + ring("exercise_minutes", "minutes of exercise", "EXERCISE", unit: "min") {
                $0.exercise
            }
            + ring("stand_hours", "hours with a minute of standing", "STAND", unit: "h") {
                $0.stand
            }
            + [
                Column("all_closed", "whether every goal of the day was met") { $0.isWhole }
                    .shown("ALL").csv()
            ])
}

/// How often a month met the goals.
package struct RingMonth: Reported, PrivateValue {
    let month: CivilMonth
    private let days: [RingDay]

    /// Returns the months that have summaries, in their order.
    static func months(of days: [RingDay]) -> [RingMonth] {
        Dictionary(grouping: days) { CivilMonth(of: $0.day) }
            .sorted { $0.key < $1.key }.map { RingMonth(month: $0.key, days: $0.value) }
    }

    /// Returns the greatest number of days in a row that met every goal.
    static func longestStreak(_ days: [RingDay]) -> Int {
        var (longest, length, last) = (0, 0, Int.min)
        for day in days where day.isWhole {
            length = day.day == last + 1 ? length + 1 : 1
            (longest, last) = (max(longest, length), day.day)
        }
        return longest
    }

    private static func closed(
        _ name: String, _ summary: String, _ heading: String,
        _ isClosed: @escaping @Sendable (RingDay) -> Bool
    ) -> Column<RingMonth> {
        Column(name, summary) { $0.days.count(where: isClosed) }
            .shown(heading, isNumber: true).csv()
    }

    package static let report = Report<RingMonth>([
        Column("month", "the month, such as 2026-11") { $0.month.description }
            .shown("MONTH").csv(),
        Column("days", "number of days that are known") { $0.days.count }
            .shown("DAYS", isNumber: true).csv(),
        closed("move_closed", "days that met the goal of movement", "MOVE") {
            $0.move?.isClosed ?? false
        },
        closed("exercise_closed", "days that met the goal of exercise", "EXERCISE") {
            $0.exercise?.isClosed ?? false
        },
        closed("stand_closed", "days that met the goal of standing", "STAND") {
            $0.stand?.isClosed ?? false
        },
        closed("all_closed", "days that met every goal", "ALL") { $0.isWhole },
        Column("longest_streak", "the most days in a row that met every goal") {
            longestStreak($0.days)
        }.shown("IN A ROW", isNumber: true).csv(),
    ])
}
