public import HealthStore
import ClarityScheduler
import JSON
public import HealthModel

// The records of the archive, for people and programs: what there is, and the records of a type or
// what they add up to.

extension HealthReader {
    /// The most records that are shown one by one.
    public static var mostRecords: Int { 100_000 }

    /// Returns the types of records with their numbers and their first and last dates.
    public func recordTypes() throws(HealthStoreError) -> HealthReport {
        let found = try store.archive.stocks(in: zone)
        var report = HealthReport()
        var local = LocalDays(zone: zone)
        func day(_ seconds: Int64) -> String {
            CivilDay(daysSince1970: local.day(at: seconds).number).description
        }
        let rows = found.stocks.map { stock in
            RecordStock(stock: stock, firstDay: day(stock.first), lastDay: day(stock.last))
        }
        report.counts = ["types of records": Int64(rows.count)]
        report.list(
            rows, RecordStock.report, style,
            absence: "no records are kept yet; an export or a push brings them")
        report.add(damaged: found.damaged)
        return report
    }

    /// Returns the records of types, each by itself or what those of an hour, a day or a month add
    /// up to; `nil` if there are too many to show one by one.
    ///
    /// - Parameters:
    ///   - since: the first day; `nil` for the first one there is.
    ///   - until: the last day.
    ///   - cut: the most characters of a text of the metadata; `nil` for all.
    public func records(
        _ types: [ArchivedType], by period: RecordPeriod, since: Since?, until: CivilDay?,
        cut: Int? = nil
    ) throws(HealthStoreError) -> HealthReport? {
        var local = LocalDays(zone: zone)
        let last = until?.daysSince1970 ?? local.day(at: now.secondsSince1970).number
        // 1900-01-01, before which no export has a record.
        let first = since?.first(upTo: last) ?? min(-25_567, last)
        var report = HealthReport()
        var rows: [RecordRow] = []
        for type in types {
            let count = rows.reduce(0) { $0 + $1.sum.count }
            switch period {
            case .day, .month:
                let found = try store.archive.days(of: type, in: first...last, zone)
                rows += RecordRow.rows(of: type, found.days, by: period)
                report.add(damaged: found.damaged)
            case .raw, .hour:
                let span = local.day(first).start..<local.day(last).end
                guard try read(type, by: period, in: span, cut: cut, &rows, &report) else {
                    return nil
                }
            }
            let added = rows.reduce(0) { $0 + $1.sum.count } - count
            if added > 0 { report.counts["records of \(type.shortName)"] = added }
        }
        let columns = RecordEntry.report(by: period)
        let entries = rows.lazy.map { RecordEntry(row: $0, period: period) }
        report.records = entries.map(columns.object)
        report.cells = columns.csv(entries)
        report.page =
            RecordsResult(
                types: types.map(\.name), period: period, since: CivilDay(daysSince1970: first),
                until: CivilDay(daysSince1970: last), timeZone: zone.identifier,
                damaged: report.damaged.count, rows: report.records
            ).object
        if form == .table { report.lines = lines(rows, by: period) }
        return report
    }

    /// Reads the records of a type one by one; returns `false` if there are too many.
    func read(
        _ type: ArchivedType, by period: RecordPeriod, in span: Range<Int64>, cut: Int? = nil,
        _ rows: inout [RecordRow], _ report: inout HealthReport
    ) throws(HealthStoreError) -> Bool {
        var places: [RecordRow.Place: Int] = [:]
        for number in type.months {
            let month = TypeMonth(type: type.name, month: number)
            guard month.overlaps(span) else { continue }
            let found = try store.archive.records(of: month)
            if found.isDamaged { report.add(damaged: [month]) }
            let segment = found.sound
            var origins: [UInt32: RecordOrigin] = [:]
            for record in segment.records where span.contains(record.start) {
                let origin = origins[record.origin] ?? RecordOrigin(segment.texts[record.origin])
                origins[record.origin] = origin
                let text = record.valueText(in: segment)
                var row = RecordRow(type: type, at: record.start)
                row.sum.unit = origin.unit
                if record.value.number == nil { row.sum.word = text }
                if period == .raw {
                    row.sum.add(record)
                    row.end = record.end
                    row.source = origin.source
                    row.value = text
                    row.metadata = record.metadata.map {
                        RecordMetadata(segment.texts[$0]).json(cut: cut)
                    }
                    rows.append(row)
                    guard rows.count <= HealthReader.mostRecords else { return false }
                } else {
                    let clock = LocalDays.clock(at: record.start, in: zone)
                    row.at = record.start - (clock - LocalDays.quotient(clock, 3600) * 3600)
                    let place = places[row.place] ?? rows.count
                    if place == rows.count {
                        places[row.place] = place
                        rows.append(row)
                    }
                    rows[place].sum.add(record)
                }
            }
        }
        return true
    }

    /// Returns a table for each type and unit.
    private func lines(_ rows: [RecordRow], by period: RecordPeriod) -> [String] {
        var tables: [(table: RecordTable, rows: [RecordRow])] = []
        for row in rows {
            let table = RecordTable(row, period)
            if let known = tables.lastIndex(where: { $0.table == table }) {
                tables[known].rows.append(row)
            } else {
                tables.append((table, [row]))
            }
        }
        var lines: [String] = []
        for (table, rows) in tables {
            if !lines.isEmpty { lines.append("") }
            lines.append(style.heading("\(table.title), times of \(zone.identifier)"))
            if table.hasNumbers, period != .raw {
                lines.append(Sparkline.text(rows.map(\.mean), width: style.width))
            }
            lines += style.table(
                table.heading, rows.map { table.cells($0, zone) }, right: table.numbers)
        }
        return lines.isEmpty ? ["no records start in this time"] : lines
    }
}

extension HealthReport {
    fileprivate mutating func add(damaged months: [TypeMonth]) {
        damaged += months.map { EncryptionError(table: "segments", row: "\($0)") }
    }
}

/// What there is of a type of records.
package struct RecordStock: Reported {
    let stock: Archive.Stock
    let firstDay: String
    let lastDay: String

    private var units: String { stock.units.joined(separator: ", ") }
    private var facts: RecordFacts { RecordFacts(type: stock.type.name) }

    package static let report = Report<RecordStock>([
        Column("type", "the type, as its source names it") { $0.stock.type.name }
            .shown("TYPE") { DisplayText.line($0.stock.type.shortName) }.csv(),
        Column("records", "number of records") { $0.stock.records }
            .shown("RECORDS", isNumber: true).csv(),
        Column("first_at", "when the first one starts") {
            Instant(secondsSince1970: $0.stock.first)
        }.shown("FROM") { $0.firstDay }.csv(),
        Column("last_at", "when the last one starts") {
            Instant(secondsSince1970: $0.stock.last)
        }.shown("TO") { $0.lastDay }.csv(),
        Column("units", "their units") { $0.stock.units }
            .shown("UNIT") { DisplayText.line($0.units) }.csv { $0.units },
        Column("title", "the name of the type for people") { $0.facts.title },
        Column("is_sum", "whether the values are added up") { $0.facts.isSum },
        Column("measure", "the measure whose days count a watch and a phone once") {
            $0.facts.measure?.rawValue
        },
    ])
}

/// The result of `records` for some types.
package struct RecordsResult: Reported, PrivateValue {
    let types: [String]
    let period: RecordPeriod
    let since: CivilDay
    let until: CivilDay
    let timeZone: String
    let damaged: Int
    let rows: [JSON]

    package static let report = Report<RecordsResult>([
        Column("types", "the types") { $0.types },
        Column("by", "what a row stands for: raw, hour, day or month") { $0.period.rawValue },
        Column("since", "the first day") { $0.since },
        Column("until", "the last day") { $0.until },
        Column("time_zone", "the time zone that days follow") { $0.timeZone },
        Column("damaged", "number of months with damaged records, which are left out") {
            $0.damaged
        },
        Column("rows", "the rows", as: { .list(RecordEntry.valueType) }) { .array($0.rows) },
    ])
}

/// What one row of a report of records stands for.
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

    /// Returns the report of a period: what no row of it has is not in CSV, and the JSON of a
    /// record has the value before its unit.
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
