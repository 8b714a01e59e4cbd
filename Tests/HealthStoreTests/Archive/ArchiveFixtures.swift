import ClarityScheduler

@testable import HealthStore

/// Returns a collector with a heart rate for each second of the range after noon, twice measured by
/// an invented watch.
func archived(
    _ seconds: Range<Int64>, source: String = "Invented watch", mostOpen: Int? = nil,
    value: Int64? = nil
) -> ArchiveCollector {
    var collector = ArchiveCollector(mostOpen: mostOpen)
    for second in seconds { collector.add(second, source: source, value: value) }
    return collector
}

extension ArchiveCollector {
    /// Adds a heart rate that follows from the second.
    mutating func add(
        _ second: Int64, source: String = "Invented watch", type: String = "HeartRate",
        offset: Int16 = 60, value: Int64? = nil
    ) {
        let start = noon.secondsSince1970 + second
        let origin = RecordOrigin(source: source, version: "5.1", unit: "count/min")
        let record = ArchivedRecord(
            start: start, end: start + 1, created: start + 2,
            offsets: ClockOffsets(start: offset, end: offset, created: offset),
            origin: texts.index(of: origin.bytes),
            value: .number(mantissa: value ?? 60 + second % 40, decimals: 0))
        add(record, type: self.type(type) ?? ArchiveCollector.otherType)
    }
}

extension Archive {
    /// Returns the records of all months of a type, with their origins.
    func records(_ type: String = "HeartRate") throws -> [(ArchivedRecord, RecordOrigin)] {
        try types().filter { $0.name == type }.flatMap { type in
            try type.months.flatMap { month in
                let segment = try records(of: TypeMonth(type: type.name, month: month)).sound
                return segment.records.map { ($0, RecordOrigin(segment.texts[$0.origin])) }
            }
        }
    }

    /// Returns the seconds after noon at which the records start.
    func seconds(_ type: String = "HeartRate") throws -> [Int64] {
        try records(type).map { $0.0.start - noon.secondsSince1970 }
    }
}
