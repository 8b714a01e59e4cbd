import HealthStore
import HealthModel
import ClarityScheduler
import JSON

/// What one row of a sheet of records stands for.
public enum RecordPeriod: String, CaseIterable, Sendable {
    /// A single record.
    case raw
    case hour
    case day
    case month
}

/// A record, or what the records of a period with the same unit or word add up to.
struct RecordRow {
    /// What tells two rows of a type apart.
    struct Place: Hashable {
        var at: Int64
        var unit: String?
        var word: String?
    }

    let type: ArchivedType
    /// The start in seconds since 1970; of a day or a month its date, in days since 1970-01-01.
    var at: Int64
    var sum = DaySum(day: 0)
    // Of single records only.
    var end: Int64 = 0
    var source: String?
    var value: String?
    var metadata: JSON?

    var place: Place { Place(at: at, unit: sum.unit, word: sum.word) }

    var mean: Double? { sum.hasNumbers ? sum.sum / Double(sum.count) : nil }

    /// Returns the days, or the months that they are in.
    static func rows(
        of type: ArchivedType, _ days: [DaySum], by period: RecordPeriod
    ) -> [RecordRow] {
        var rows: [RecordRow] = []
        var places: [Place: Int] = [:]
        for day in days {
            var row = RecordRow(type: type, at: Int64(day.day), sum: day)
            if period == .month {
                let civil = CivilTime(row.at * 86_400_000)
                row.at -= Int64(civil.day - 1)
            }
            if let known = places[row.place] {
                rows[known].sum.add(day)
            } else {
                places[row.place] = rows.count
                rows.append(row)
            }
        }
        return rows
    }

    /// When it is: an instant of the zone, a date, or a month such as `2026-11`.
    func time(_ period: RecordPeriod, _ zone: Zone) -> String {
        switch period {
        case .raw, .hour: zone.text(Instant(secondsSince1970: at))
        case .day: CivilDay(daysSince1970: Int(at)).description
        case .month: String(CivilDay(daysSince1970: Int(at)).description.prefix(7))
        }
    }
}

/// A record, or what the records of a period add up to, for programs.
package struct RecordEntry: PrivateValue {
    let row: RecordRow
    let period: RecordPeriod

    private var isRaw: Bool { period == .raw }

    private func number(_ value: Double) -> RoundedNumber? {
        isRaw || row.mean == nil ? nil : RoundedNumber(value)
    }
}

extension RecordEntry: Reported {
    /// The columns of all periods.
    package static let report = Report(columns.map { $0.csv() }, omitsNulls: true)

    private static let columns: [Column<RecordEntry>] = [
        Column("type", "the type") { $0.row.type.name },
        Column("start", "when the record starts; only with raw") {
            $0.isRaw ? Instant(secondsSince1970: $0.row.at) : nil
        },
        Column("end", "when it ends; only with raw") {
            $0.isRaw ? Instant(secondsSince1970: $0.row.end) : nil
        },
        Column("source", "its source; only with raw") { $0.row.source },
        Column(
            "metadata", "its metadata; only with raw", as: { .map(.text) }, isOptional: true
        ) { $0.row.metadata ?? .null },
        Column("hour", "when the hour starts") {
            $0.period == .hour ? Instant(secondsSince1970: $0.row.at) : nil
        },
        Column("day", "the day") {
            $0.period == .day ? CivilDay(daysSince1970: Int($0.row.at)) : nil
        },
        Column("month", "the month, such as 2026-11") {
            $0.period == .month ? $0.row.time(.month, .utc) : nil
        },
        Column("unit", "the unit of the numbers") { $0.row.sum.unit },
        Column(
            "value",
            "the value: as it was written with raw, otherwise the word that the records share"
        ) { $0.isRaw ? $0.row.value : $0.row.sum.word },
        Column("count", "number of records; not with raw") {
            $0.isRaw ? nil : $0.row.sum.count
        },
        Column("min", "the least number") { $0.number($0.row.sum.least) },
        Column("mean", "the mean of the numbers") { $0.number($0.row.mean ?? 0) },
        Column("max", "the greatest number") { $0.number($0.row.sum.most) },
        Column("sum", "the sum of the numbers, of all sources") {
            $0.number($0.row.sum.sum)
        },
        Column("minutes", "how long the records took; not with raw") {
            $0.isRaw ? nil : RoundedNumber(Double($0.row.sum.seconds) / 60)
        },
    ]

    /// Returns the report of a period: what no row of it has is not in CSV, and the JSON of a record
    /// has the value before its unit.
    static func report(by period: RecordPeriod) -> Report<RecordEntry> {
        let others = Set(RecordPeriod.allCases.map(\.rawValue)).subtracting([period.rawValue])
        guard period == .raw else {
            return report.without(others.union(["start", "end", "source", "metadata"]))
        }
        return report.with(["type", "start", "end", "value", "unit", "source", "metadata"])
    }
}

/// A table for people: the rows of one type in one unit, or those without numbers.
struct RecordTable: Equatable {
    let type: String
    let unit: String?
    let hasNumbers: Bool
    let period: RecordPeriod

    init(_ row: RecordRow, _ period: RecordPeriod) {
        type = row.type.shortName
        hasNumbers = row.sum.hasNumbers
        unit = hasNumbers ? row.sum.unit : nil
        self.period = period
    }

    /// Such as `HeartRate in count/min`.
    var title: String { DisplayText.line(type + (unit.map { " in \($0)" } ?? "")) }

    var heading: [String] {
        switch period {
        case .raw: ["START", "MINUTES", "VALUE", "SOURCE"]
        default:
            [period.rawValue.uppercased()]
                + (hasNumbers
                    ? ["COUNT", "MIN", "MEAN", "MAX", "SUM"] : ["VALUE", "COUNT", "MINUTES"])
        }
    }

    /// The columns with numbers.
    var numbers: Set<Int> {
        switch period {
        case .raw: hasNumbers ? [1, 2] : [1]
        default: hasNumbers ? [1, 2, 3, 4, 5] : [2, 3]
        }
    }

    func cells(_ row: RecordRow, _ zone: Zone) -> [String] {
        let minutes = fixedText(Double(row.sum.seconds) / 60, decimals: 1)
        var time = row.time(period, zone)
        if period == .raw || period == .hour {
            time = String(time.prefix(16)).replacing("T", with: " ")
        }
        if period == .raw {
            let value = hasNumbers ? row.value ?? "" : word(row)
            return [time, minutes, DisplayText.line(value), DisplayText.line(row.source ?? "")]
        }
        guard hasNumbers, let mean = row.mean else {
            return [time, word(row), "\(row.sum.count)", minutes]
        }
        let numbers = [row.sum.least, mean, row.sum.most, row.sum.sum]
        return [time, "\(row.sum.count)"] + numbers.map { roundedJSON($0).line }
    }

    /// A word without what HealthKit puts in front of it: `AsleepCore`.
    private func word(_ row: RecordRow) -> String {
        var word = row.sum.word ?? ""
        for prefix in ["HKCategoryValue", "HKWorkoutActivityType", type]
        where word.hasPrefix(prefix) && word.count > prefix.count {
            word = String(word.dropFirst(prefix.count))
        }
        return DisplayText.line(word)
    }
}
