public import HealthStore
public import HealthModel
import ClarityScheduler

// Workouts over any time: each of them, or how much those of a month are.
extension HealthReader {
    /// Returns the workouts that start on days, or how much those of each month are.
    ///
    /// - Parameters:
    ///   - since: as in `nights(by:since:until:)`.
    ///   - until: as there.
    public func workouts(
        by period: SpanPeriod, since: Since?, until: CivilDay?
    ) throws(HealthStoreError) -> HealthReport {
        var report = HealthReport()
        let (days, newest) = try span(of: "Workout", since, until)
        let rows = try singleRecords("Workout", in: days, &report) ?? []
        let workouts = rows.map { WorkoutRow(workout: Workout($0), source: $0.source, zone: zone) }
            .sorted { $0.workout.start < $1.workout.start }
        let absence = "no workout is known of these days"
        switch period {
        case .each:
            report.list(Array(workouts.reversed()), WorkoutRow.report, style, absence: absence)
        case .month:
            let months = WorkoutMonth.months(of: workouts, zone)
            report.list(months, WorkoutMonth.report, style, absence: absence)
        }
        let result = SpanResult(
            period: period, days: days, newest: newest, timeZone: zone.identifier,
            damaged: report.damaged.count, rows: report.records)
        report.page = SpanResult.ofWorkouts.object(result)
        return report
    }
}

/// A workout of the archive.
package struct WorkoutRow: Reported, PrivateValue {
    let workout: Workout
    let source: String?
    let zone: Zone

    private static func figure(
        _ name: String, _ summary: String, _ heading: String,
        _ value: @escaping @Sendable (Workout) -> Workout.Figure?
    ) -> [Column<WorkoutRow>] {
        [
            Column(name, summary) { value($0.workout).map { RoundedNumber($0.value) } }
                .shown(heading, isNumber: true) { row in
                    value(row.workout).map {
                        MonthNumbers.text($0.value, unit: $0.unit, decimals: $0.value < 10 ? 2 : 0)
                    } ?? "-"
                }.csv(),
            Column("\(name)_unit", "its unit") { value($0.workout)?.unit }.csv(),
        ]
    }

    package static let report = Report<WorkoutRow>(
        [
            Column("start", "when it begins") { Instant(secondsSince1970: $0.workout.start) }
                .shown("START") { row in
                    LocalDates(zone: row.zone)
                        .fullMoment(Instant(secondsSince1970: row.workout.start))
                }.csv(),
            Column("end", "when it ends") { Instant(secondsSince1970: $0.workout.end) }.csv(),
            Column("activity", "the activity, as its source names it") { $0.workout.activity }
                .csv(),
            Column("title", "the activity for people") { wordsOfName($0.workout.activity) }
                .shown("WORKOUT") { DisplayText.line(wordsOfName($0.workout.activity)) },
            Column("minutes", "its length in minutes") { RoundedNumber($0.workout.minutes) }
                .shown("LENGTH", isNumber: true) {
                    MonthNumbers.text($0.workout.minutes, unit: "min", decimals: 0)
                }.csv(),
        ] + figure("energy", "active energy", "ENERGY") { $0.energy }
            + figure("distance", "distance", "DISTANCE") { $0.distance }
            + figure("heart_rate", "mean heart rate", "HEART RATE") { $0.heart }
            + [Column("source", "its source") { $0.source }.csv()])
}

/// How much the workouts of a month are.
package struct WorkoutMonth: Reported, PrivateValue {
    let month: CivilMonth
    private let workouts: [Workout]

    /// Returns the months that have workouts, in their order.
    static func months(of rows: [WorkoutRow], _ zone: Zone) -> [WorkoutMonth] {
        var local = LocalDays(zone: zone)
        return Dictionary(grouping: rows) { CivilMonth(of: local.day(at: $0.workout.start).number) }
            .sorted { $0.key < $1.key }
            .map { WorkoutMonth(month: $0.key, workouts: $0.value.map(\.workout)) }
    }

    private var minutes: Double { workouts.reduce(0) { $0 + $1.minutes } }

    /// The activity with the most minutes.
    private var most: String {
        var sums: [String: Double] = [:]
        for workout in workouts { sums[workout.activity, default: 0] += workout.minutes }
        return sums.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key ?? ""
    }

    package static let report = Report<WorkoutMonth>([
        Column("month", "the month, such as 2026-11") { $0.month.description }
            .shown("MONTH").csv(),
        Column("workouts", "number of workouts") { $0.workouts.count }
            .shown("WORKOUTS", isNumber: true).csv(),
        Column("minutes", "their length in minutes") { RoundedNumber($0.minutes) }
            .shown("LENGTH", isNumber: true) {
                MonthNumbers.text($0.minutes, unit: "min", decimals: 0)
            }.csv(),
        Column("most", "the activity with the most minutes, for people") { wordsOfName($0.most) }
            .shown("MOSTLY") { DisplayText.line(wordsOfName($0.most)) }.csv(),
    ])
}
