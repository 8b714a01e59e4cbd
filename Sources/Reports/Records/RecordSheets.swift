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
        var rows: [[String]] = []
        var local = LocalDays(zone: zone)
        func day(_ seconds: Int64) -> String {
            CivilDay(daysSince1970: local.day(at: seconds).number).description
        }
        sheet.cells = [["type", "records", "first_at", "last_at", "units"]]
        for stock in found.stocks {
            let first = Instant(secondsSince1970: stock.first)
            let last = Instant(secondsSince1970: stock.last)
            let units = stock.units.joined(separator: ", ")
            let facts = RecordFacts(type: stock.type.name)
            rows.append([
                DisplayText.line(stock.type.shortName), "\(stock.records)", day(stock.first),
                day(stock.last), DisplayText.line(units),
            ])
            sheet.records.append([
                "type": .string(stock.type.name), "records": .integer(stock.records),
                "first_at": .text(first), "last_at": .text(last),
                "units": .array(stock.units.map { .string($0) }), "title": .string(facts.title),
                "is_sum": .bool(facts.isSum), "measure": .text(facts.measure?.rawValue),
            ])
            sheet.cells.append([
                stock.type.name, "\(stock.records)", "\(first)", "\(last)", units,
            ])
        }
        sheet.counts = ["types of records": Int64(rows.count)]
        sheet.lines = style.table(["TYPE", "RECORDS", "FROM", "TO", "UNIT"], rows, right: [1])
        if rows.isEmpty {
            sheet.lines = ["no records are kept yet; an export or a push brings them"]
        }
        sheet.page = .array(sheet.records)
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
        sheet.cells = [RecordRow.names(period)]
        for row in rows {
            sheet.records.append(row.json(period, zone))
            sheet.cells.append(row.cells(period, zone))
        }
        sheet.page = [
            "types": .array(types.map { .string($0.name) }), "by": .string(period.rawValue),
            "since": .string(CivilDay(daysSince1970: first).description),
            "until": .string(CivilDay(daysSince1970: last).description),
            "time_zone": .string(zone.identifier), "damaged": .count(sheet.damaged.count),
            "rows": .array(sheet.records),
        ]
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
