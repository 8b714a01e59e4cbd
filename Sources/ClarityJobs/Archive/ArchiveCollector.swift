import ClarityScheduler

/// A type and a month, counted from January 1970.
package struct TypeMonth: Hashable, Comparable, Sendable {
    package var type: String
    package var month: Int

    package init(type: String, month: Int) {
        self.type = type
        self.month = month
    }

    /// Returns the month of an instant in seconds since 1970, in UTC.
    static func month(of seconds: Int64) -> Int {
        let time = CivilTime(seconds &* 1000)
        return (time.year - 1970) * 12 + time.month - 1
    }

    /// Whether an instant of a range is in the month, in UTC.
    package func overlaps(_ range: Range<Int64>) -> Bool {
        !range.isEmpty && TypeMonth.month(of: range.lowerBound) <= month
            && month <= TypeMonth.month(of: range.upperBound - 1)
    }

    package static func < (one: TypeMonth, other: TypeMonth) -> Bool {
        (one.type, one.month) < (other.type, other.month)
    }
}

/// Gathers the records of one reading by type and month, until `Archive.keep` stores them.
///
/// The most recent records are values in memory; more than `mostOpen` of them are compressed, which
/// leaves some 5 bytes of each.
package struct ArchiveCollector: Hashable, Sendable {
    private struct Bucket: Hashable, Sendable {
        var type: Int
        var month: Int
        var open: [ArchivedRecord] = []
        /// Encoded segments.
        var parts: [[UInt8]] = []
    }

    private struct LastBucket: Hashable {
        var type: Int
        var bucket: Int
        /// The month: from the first second up to but not including the last.
        var from: Int64
        var to: Int64
    }

    private struct Place: Hashable {
        var type: Int
        var month: Int
    }

    /// The records that are kept as they are: some 7 MB.
    private static let mostOpen = 100_000
    /// The number of the type whose records have another name in their origin: no plain name, or one
    /// of too many.
    package static let otherType = 0
    /// The bytes of texts that are kept: some apps give every record an id of its own.
    private static let mostText = 1 << 22
    /// The most types that are distinguished, as in the counts of an export.
    private static let mostTypes = 1024
    /// Fewer records of a month are not worth compressing before all are there.
    private static let fewRecords = 256

    /// The texts of the records that are not compressed yet.
    package var texts = TextTable()
    /// Rises when `texts` begins anew: indices from before mean nothing then.
    package private(set) var epoch = 0
    private var types = ["(other types)": ArchiveCollector.otherType]
    private var buckets: [Bucket] = []
    private var places: [Place: Int] = [:]
    /// Neighbouring records nearly always have the same type and month.
    private var last: LastBucket?
    private var openCount = 0
    private let mostOpen: Int
    /// The first error of libzstd, which means that there is no memory.
    private var failure: ArchiveError?
    /// The number of records.
    package private(set) var count: Int64 = 0

    /// - Parameter mostOpen: the number of records that are not compressed, for tests.
    package init(mostOpen: Int? = nil) { self.mostOpen = mostOpen ?? ArchiveCollector.mostOpen }

    /// Returns the number of a type, for `add`; `nil` if there are too many types already.
    package mutating func type(_ name: String) -> Int? {
        if let known = types[name] { return known }
        guard types.count < ArchiveCollector.mostTypes else { return nil }
        types[name] = types.count
        return types.count - 1
    }

    /// Adds a record of a type.
    package mutating func add(_ record: ArchivedRecord, type: Int) {
        let bucket: Int
        if let last, last.type == type, record.start >= last.from, record.start < last.to {
            bucket = last.bucket
        } else {
            bucket = self.bucket(of: record.start, type)
        }
        buckets[bucket].open.append(record)
        count += 1
        openCount += 1
        if openCount > mostOpen || texts.size > ArchiveCollector.mostText { compress() }
    }

    private mutating func bucket(of start: Int64, _ type: Int) -> Int {
        let place = Place(type: type, month: TypeMonth.month(of: start))
        let bucket = places[place] ?? buckets.count
        if bucket == buckets.count {
            places[place] = bucket
            buckets.append(Bucket(type: type, month: place.month))
        }
        func first(ofMonth month: Int) -> Int64 {
            let (year, rest) = month.quotientAndRemainder(dividingBy: 12)
            let isBefore = rest < 0
            return CivilTime(
                year: 1970 + year - (isBefore ? 1 : 0), month: 1 + rest + (isBefore ? 12 : 0),
                day: 1
            ).millisecondsSince1970 / 1000
        }
        last = LastBucket(
            type: type, bucket: bucket, from: first(ofMonth: place.month),
            to: first(ofMonth: place.month + 1))
        return bucket
    }

    /// Compresses the records of large buckets; all of them if that does not help, or if there is too
    /// much text.
    private mutating func compress() {
        let hasMuchText = texts.size > ArchiveCollector.mostText
        do throws(ArchiveError) {
            let compressor = try Compressor(level: 1)
            for floor in [ArchiveCollector.fewRecords, 1]
            where openCount > mostOpen / 2 || hasMuchText {
                for index in buckets.indices where buckets[index].open.count >= floor {
                    var segment = Segment()
                    segment.add(buckets[index].open, textsIn: texts)
                    buckets[index].parts.append(segment.encoded(compressor))
                    openCount -= segment.records.count
                    buckets[index].open = []
                }
            }
            if hasMuchText {
                texts = TextTable()
                epoch += 1
            }
        } catch {
            failure = failure ?? error
        }
    }

    /// Returns the types and months, in order.
    func keys() -> [(key: TypeMonth, bucket: Int)] {
        let names = Dictionary(uniqueKeysWithValues: types.map { ($0.value, $0.key) })
        return buckets.enumerated().map { index, bucket in
            (TypeMonth(type: names[bucket.type] ?? "", month: bucket.month), index)
        }.sorted { $0.0 < $1.0 }
    }

    /// Returns all records of a type and month.
    func segment(_ bucket: Int, _ decompressor: Decompressor) throws(ArchiveError) -> Segment {
        if let failure { throw failure }
        var segment = Segment()
        for part in buckets[bucket].parts {
            let part = try Segment(part, decompressor)
            segment.add(part.records, textsIn: part.texts)
        }
        segment.add(buckets[bucket].open, textsIn: texts)
        return segment
    }
}
