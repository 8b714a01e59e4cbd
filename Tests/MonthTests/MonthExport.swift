import ClarityScheduler

/// A made-up export of the Health app, with known content.
///
/// Heart rates are numbered: each number has its own instant and always the same value, so that two
/// exports overlap where their numbers do. Each day has three records of steps.
struct MonthExport {
    /// The numbers of its heart rates.
    var heartRates: Range<Int>
    /// The days that have steps, counted from the first day of all exports.
    var days: Range<Int>
    /// The number of records of a kind for which the backend has no field.
    var unmapped: Int

    /// The start of the first day of all exports, a week before the month.
    static let firstDay = Instant(secondsSince1970: 1_771_804_800)
    /// The number and the value of the heart rate that the backend refuses.
    static let poison = (number: 199, value: "211.5")

    /// The number of records.
    var records: Int { heartRates.count + stepRecords + unmapped }
    var stepRecords: Int { 3 * days.count }

    /// The text of `export.xml`.
    var text: String {
        var lines = [#"<?xml version="1.0" encoding="UTF-8"?>"#, #"<HealthData locale="en_GB">"#]
        for number in heartRates {
            let poison = MonthExport.poison
            lines.append(
                record(
                    "HeartRate", "count/min",
                    at: MonthExport.firstDay + .seconds(Int64(number) * 63 * 60),
                    number == poison.number ? poison.value : String(50 + number % 60)))
        }
        for day in days {
            for hour in [8, 13, 19] {
                let seconds = Int64(day) * 86_400 + Int64(hour) * 3600
                lines.append(
                    record(
                        "StepCount", "count", at: MonthExport.firstDay + .seconds(seconds),
                        for: .seconds(600), String(700 + 10 * day + hour)))
            }
        }
        for number in 0..<unmapped {
            lines.append(
                record(
                    "UVExposure", "count",
                    at: MonthExport.firstDay + .seconds(Int64(number) * 60), "1"))
        }
        return (lines + ["</HealthData>", ""]).joined(separator: "\n")
    }

    private func record(
        _ type: String, _ unit: String, at start: Instant, for span: Duration = .zero,
        _ value: String
    ) -> String {
        """
         <Record type="HKQuantityTypeIdentifier\(type)" sourceName="Watch" unit="\(unit)" \
        startDate="\(date(start))" endDate="\(date(start + span))" value="\(value)"/>
        """
    }

    /// Returns an instant in the form `2026-02-23 08:00:00 +0000`.
    private func date(_ instant: Instant) -> String {
        instant.description.replacing("T", with: " ").replacing("Z", with: " +0000")
    }
}
