import HealthModel
import HealthStore

/// Puts the readings of an hour together that one Observation can have without losing any.
///
/// A reading is a record of a quantity that starts when it ends and has a number. Those of one hour
/// (of UTC), origin and metadata go together. If two of them are of one instant, both go alone.
struct HourlyReadings {
    /// What goes alone, by its index, or together, by a range of `readings`.
    enum Piece {
        case record(Int)
        case readings(Range<Int>)
    }

    private struct Group: Hashable {
        let origin: UInt32
        let metadata: UInt32?
    }

    private(set) var pieces: [Piece] = []
    /// The indices of records, those of a piece in the order of time.
    private(set) var readings: [Int] = []

    /// Whether the readings of a type go together. What is added up takes time, and is no reading;
    /// the profiles of what is rare want a quantity.
    static func areTogether(of type: String) -> Bool {
        let facts = RecordFacts(type: type)
        return type.hasPrefix("HKQuantityTypeIdentifier") && !facts.isRare && !facts.isSum
    }

    /// - Parameter range: the starts of the records that are wanted.
    init(_ segment: Segment, _ range: Range<Int64>) {
        var open: [Group: [Int]] = [:]
        var order: [Group] = []
        var hour = Int64.min
        for (index, record) in segment.records.enumerated() where range.contains(record.start) {
            let ofRecord = HourlyReadings.hour(of: record)
            if ofRecord != hour {
                close(order.compactMap { open[$0] }, segment)
                (open, order, hour) = ([:], [], ofRecord)
            }
            guard record.start == record.end, case .number = record.value else {
                pieces.append(.record(index))
                continue
            }
            let group = Group(origin: record.origin, metadata: record.metadata)
            if open[group]?.append(index) == nil {
                open[group] = [index]
                order.append(group)
            }
        }
        close(order.compactMap { open[$0] }, segment)
    }

    static func hour(of record: ArchivedRecord) -> Int64 {
        LocalDays.quotient(record.start, 3600)
    }

    private mutating func close(_ groups: [[Int]], _ segment: Segment) {
        for group in groups {
            let first = readings.count
            for (place, index) in group.enumerated() {
                let start = segment.records[index].start
                let isAlone =
                    (place == 0 || segment.records[group[place - 1]].start != start)
                    && (place == group.count - 1
                        || segment.records[group[place + 1]].start != start)
                if isAlone { readings.append(index) } else { pieces.append(.record(index)) }
            }
            if readings.count > first { pieces.append(.readings(first..<readings.count)) }
        }
    }

    /// Returns the greatest common divisor of the distances between ascending instants, of which
    /// there are two at least.
    static func period(_ starts: some Sequence<Int64>) -> Int64 {
        var (period, previous) = (Int64(0), Int64?.none)
        for start in starts {
            var (one, other) = (start - (previous ?? start), period)
            while other != 0 { (one, other) = (other, one % other) }
            (period, previous) = (one, start)
        }
        return max(period, 1)
    }
}
