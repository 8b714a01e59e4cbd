public import HealthStore
public import HealthModel
import ClarityScheduler
import JSON

// The records of the archive, for people and programs: what there is, and the records of a type or what
// they add up to.

extension SheetReader {
    /// The most records that are shown one by one.
    public static var mostRecords: Int { 100_000 }

    /// Returns the types of records with their numbers and their first and last dates.
    public func recordTypes() throws(HealthStoreError) -> Sheet {
        let found = try store.archive.stocks(in: zone)
        var sheet = Sheet()
        var local = LocalDays(zone: zone)
        func day(_ seconds: Int64) -> String {
            CivilDay(daysSince1970: local.day(at: seconds).number).description
        }
        let rows = found.stocks.map { stock in
            RecordStock(stock: stock, firstDay: day(stock.first), lastDay: day(stock.last))
        }
        sheet.counts = ["types of records": Int64(rows.count)]
        sheet.list(
            rows, RecordStock.report, style,
            absence: "no records are kept yet; an export or a push brings them")
        sheet.add(damaged: found.damaged)
        return sheet
    }

    /// Returns the records of types, each by itself or what those of an hour, a day or a month add up
    /// to; `nil` if there are too many to show one by one.
    ///
    /// - Parameters:
    ///   - since: the first day; `nil` for the first one there is.
    ///   - until: the last day.
    public func records(
        _ types: [ArchivedType], by period: RecordPeriod, since: Since?, until: CivilDay?
    ) throws(HealthStoreError) -> Sheet? {
        var local = LocalDays(zone: zone)
        let last = until?.daysSince1970 ?? local.day(at: now.secondsSince1970).number
        let first =
            switch since {
            case .days(let count): last - count + 1
            case .date(let day): min(day.daysSince1970, last)
            // 1900-01-01, before which no export has a record.
            case nil: min(-25_567, last)
            }
        var sheet = Sheet()
        var rows: [RecordRow] = []
        for type in types {
            let count = rows.reduce(0) { $0 + $1.sum.count }
            switch period {
            case .day, .month:
                let found = try store.archive.days(of: type, in: first...last, zone)
                rows += RecordRow.rows(of: type, found.days, by: period)
                sheet.add(damaged: found.damaged)
            case .raw, .hour:
                let span = local.day(first).start..<local.day(last).end
                guard try read(type, by: period, in: span, &rows, &sheet) else { return nil }
            }
            let added = rows.reduce(0) { $0 + $1.sum.count } - count
            if added > 0 { sheet.counts["records of \(type.shortName)"] = added }
        }
        let report = RecordEntry.report(by: period)
        let entries = rows.lazy.map { RecordEntry(row: $0, period: period) }
        sheet.records = entries.map(report.object)
        sheet.cells = report.csv(entries)
        sheet.page =
            RecordsResult(
                types: types.map(\.name), period: period, since: CivilDay(daysSince1970: first),
                until: CivilDay(daysSince1970: last), timeZone: zone.identifier,
                damaged: sheet.damaged.count, rows: sheet.records
            ).object
        if form == .table { sheet.lines = lines(rows, by: period) }
        return sheet
    }

    /// Reads the records of a type one by one; returns `false` if there are too many.
    func read(
        _ type: ArchivedType, by period: RecordPeriod, in span: Range<Int64>,
        _ rows: inout [RecordRow], _ sheet: inout Sheet
    ) throws(HealthStoreError) -> Bool {
        var places: [RecordRow.Place: Int] = [:]
        for number in type.months {
            let month = TypeMonth(type: type.name, month: number)
            guard month.overlaps(span) else { continue }
            let found = try store.archive.records(of: month)
            if found.isDamaged { sheet.add(damaged: [month]) }
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
                    row.metadata = record.metadata.map { RecordMetadata(segment.texts[$0]).json }
                    rows.append(row)
                    guard rows.count <= SheetReader.mostRecords else { return false }
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

extension Sheet {
    fileprivate mutating func add(damaged months: [TypeMonth]) {
        damaged += months.map { SealingError(table: "segments", row: "\($0)") }
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
