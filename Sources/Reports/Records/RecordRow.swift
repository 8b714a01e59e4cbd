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

    /// The numbers that stand for the records, with their names.
    private var numbers: [(name: String, number: Double)] {
        guard let mean else { return [] }
        return [("min", sum.least), ("mean", mean), ("max", sum.most), ("sum", sum.sum)]
    }

    /// When it is: an instant of the zone, a date, or a month such as `2026-11`.
    func time(_ period: RecordPeriod, _ zone: Zone) -> String {
        switch period {
        case .raw, .hour: zone.text(Instant(secondsSince1970: at))
        case .day: CivilDay(daysSince1970: Int(at)).description
        case .month: String(CivilDay(daysSince1970: Int(at)).description.prefix(7))
        }
    }

    func json(_ period: RecordPeriod, _ zone: Zone) -> JSON {
        var members: [JSON.Member] = []
        func add(_ name: String, _ value: JSON?) {
            if let value { members.append(JSON.Member(name: name, value: value)) }
        }
        add("type", .string(type.name))
        switch period {
        case .raw:
            add("start", .text(Instant(secondsSince1970: at)))
            add("end", .text(Instant(secondsSince1970: end)))
            add("value", value.map { .string($0) })
            add("unit", sum.unit.map { .string($0) })
            add("source", source.map { .string($0) })
            add("metadata", metadata)
        case .hour, .day, .month:
            add(
                period.rawValue,
                period == .hour
                    ? .text(Instant(secondsSince1970: at)) : .string(time(period, zone)))
            add("unit", sum.unit.map { .string($0) })
            add("value", sum.word.map { .string($0) })
            add("count", .integer(sum.count))
            for number in numbers { add(number.name, roundedJSON(number.number)) }
            add("minutes", roundedJSON(Double(sum.seconds) / 60))
        }
        return .object(members)
    }

    /// The names of the cells of CSV.
    static func names(_ period: RecordPeriod) -> [String] {
        period == .raw
            ? ["type", "start", "end", "value", "unit", "source", "metadata"]
            : [
                "type", period.rawValue, "unit", "value", "count", "min", "mean", "max", "sum",
                "minutes",
            ]
    }

    func cells(_ period: RecordPeriod, _ zone: Zone) -> [String] {
        let json = json(period, zone)
        return RecordRow.names(period).map { name in
            let member = json[name]
            return member?.text ?? member?.line ?? ""
        }
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
